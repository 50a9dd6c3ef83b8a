-- What must hold after each step of ingest, over the fact views (ids, dates, flags; never text), as kos_dbt.
-- Each block gives the figures and at most 10 ids of what violates.

-- name: notes_accounted
with standing as (
    select n.note_id, n.is_synced, m.memory_id, m.is_live, m.folded_into, m.deleted_reason, t.deleted_at as target_deleted_at
    from kos.note_facts as n
    left join kos.memory_facts as m on n.note_id = m.note_id
    left join kos.memory_facts as t on m.folded_into = t.memory_id
    where n.deleted_at is null
), judged as (
    select
        s.*,
        s.is_live is true as live,
        s.folded_into is not null and s.target_deleted_at is null as folded,
        s.memory_id is not null and s.folded_into is null and not s.is_live and coalesce(s.deleted_reason, 'expired') <> 'note_deleted'
            as retired
    from standing as s
), lost as (
    select j.note_id from judged as j where j.is_synced and not (j.live or j.folded or j.retired)
), ghosts as (
    select m.memory_id
    from kos.memory_facts as m
    inner join kos.note_facts as n on m.note_id = n.note_id
    where m.deleted_at is null and n.deleted_at is not null and n.is_synced
)
select
    (select count(*) from judged) as notes,
    (select count(*) from judged as j where j.live) as live,
    (select count(*) from judged as j where j.folded) as folded,
    (select count(*) from judged as j where j.retired) as retired,
    (select count(*) from judged as j where not j.is_synced) as waiting,
    (select count(*) from lost) + (select count(*) from ghosts) as violations,
    array(
        select l.note_id::text from lost as l union all select g.memory_id::text from ghosts as g order by 1 limit 10
    ) as sample;

-- name: memories_chunked
select
    count(*) as live,
    coalesce(sum(m.chunks), 0)::bigint as chunks,
    count(*) filter (where m.chunks = 0 or not m.is_indexed) as violations,
    coalesce(
        (array_agg(m.memory_id::text order by m.memory_id) filter (where m.chunks = 0 or not m.is_indexed))[1:10], '{}'
    ) as sample
from kos.memory_facts as m where m.is_live;

-- name: vectors_current
select
    count(*) filter (where v.state = 'current' and v.is_live) as current,
    count(*) filter (where v.state = 'missing' and v.is_live) as missing,
    count(*) filter (where v.state in ('stale', 'orphan')) as violations,
    coalesce(
        (
            array_agg(v.memory_id::text || ':' || v.ordinal order by v.memory_id, v.ordinal)
            filter (where v.state in ('stale', 'orphan'))
        )[1:10],
        '{}'
    ) as sample
from kos.vector_facts as v;

-- name: quarantined
select
    count(*) filter (where q.severity = 'blocked') as blocked,
    count(*) filter (where q.severity = 'problem') as problems,
    count(*) filter (where q.severity = 'blocked') as violations,
    array(
        select b.code || ': ' || count(*) from kos.quarantine_facts as b
        where b.severity = 'blocked' group by b.code order by b.code limit 10
    ) as sample
from kos.quarantine_facts as q;

-- name: versions_single
with recursive above as (
    select m.memory_id as inner_id, m.namespace, s.memory_id as later_id, s.is_live
    from kos.memory_facts as m
    inner join kos.memory_facts as s on m.memory_id = s.supersedes and m.namespace = s.namespace
    where m.is_live and m.note_id is null
    union
    select a.inner_id, a.namespace, s.memory_id, s.is_live
    from above as a
    inner join kos.memory_facts as s on a.later_id = s.supersedes and a.namespace = s.namespace
), judged as (
    select a.inner_id, bool_or(a.is_live) as beside, bool_or(a.later_id = a.inner_id) as circular
    from above as a group by a.inner_id
)
select
    (select count(*) from kos.chain_facts) as chains,
    (select count(*) from judged as j where j.circular) as circular,
    (select count(*) from judged as j where j.beside and not j.circular) as violations,
    array(
        select j.inner_id::text from judged as j where j.beside or j.circular order by j.inner_id limit 10
    ) as sample;
