-- The only file beside the migrations that names kos.memories; called by the gate alone.

-- name: by_id
select
    memory_id, namespace, memory_type, type_reason, type_confidence, heading, content, summary, provenance, confidence,
    supersedes, folded_into, note_id, note_path, author, home_path, lang, event_at, event_zone, event_rule, keywords,
    verified_at, verified_by, verified_how, boost, expires_at, deleted_at, deleted_reason, content_hash, fold_hash,
    created_at, updated_at
from kos.memories where memory_id = any(%(memory_ids)s::uuid[]) order by memory_id for no key update;

-- name: fold_groups
select distinct namespace, fold_hash as body_hash
from kos.memories where note_id = any(%(note_ids)s::uuid[]) and fold_hash is not null;

-- name: insert
insert into kos.memories (
    memory_id, namespace, memory_type, type_reason, type_confidence, heading, content, provenance, confidence,
    supersedes, folded_into, note_id, note_path, author, home, home_path, lang, event_at, event_zone, event_rule,
    keywords, verified_at, verified_by, verified_how, boost, importance, expires_at, deleted_at, deleted_reason,
    content_hash, fold_hash, idempotency_key, created_at
) values (
    %(memory_id)s, %(namespace)s, %(memory_type)s, %(type_reason)s, %(type_confidence)s, %(heading)s, %(content)s,
    %(provenance)s, %(confidence)s, %(supersedes)s, %(folded_into)s, %(note_id)s, %(note_path)s, %(author)s,
    %(home)s::text::ltree, %(home_path)s, %(lang)s, %(event_at)s, %(event_zone)s, %(event_rule)s, %(keywords)s,
    %(verified_at)s, %(verified_by)s, %(verified_how)s, %(boost)s, %(boost)s, %(expires_at)s, %(deleted_at)s,
    %(deleted_reason)s, %(content_hash)s, %(fold_hash)s, %(idempotency_key)s, coalesce(%(created_at)s, now())
);

-- name: update
update kos.memories set
    namespace = %(namespace)s, memory_type = %(memory_type)s, type_reason = %(type_reason)s,
    type_confidence = %(type_confidence)s, heading = %(heading)s, content = %(content)s, provenance = %(provenance)s,
    confidence = %(confidence)s, folded_into = %(folded_into)s, note_path = %(note_path)s, author = %(author)s,
    home = %(home)s::text::ltree, home_path = %(home_path)s, lang = %(lang)s, event_at = %(event_at)s,
    event_zone = %(event_zone)s, event_rule = %(event_rule)s, keywords = %(keywords)s, verified_at = %(verified_at)s,
    verified_by = %(verified_by)s, verified_how = %(verified_how)s, boost = %(boost)s, importance = %(boost)s,
    expires_at = %(expires_at)s, deleted_at = %(deleted_at)s, deleted_reason = %(deleted_reason)s,
    content_hash = %(content_hash)s, fold_hash = %(fold_hash)s, updated_at = now()
where memory_id = %(memory_id)s;

-- name: retire
with standing as (
    select memory_id from kos.memories
    where memory_id = any(%(memory_ids)s::uuid[]) and deleted_at is null
    order by memory_id for no key update
)
update kos.memories as m set deleted_at = %(at)s, deleted_reason = %(reason)s, updated_at = now()
from standing as s where m.memory_id = s.memory_id
returning m.memory_id, m.namespace;

-- name: expired
select memory_id from kos.memories
where deleted_at is null and expires_at <= %(at)s
order by expires_at, memory_id limit %(limit)s;

-- name: record_history
insert into kos.memory_history (memory_id, namespace, at, principal, action, reason, before, after)
values (%(memory_id)s, %(namespace)s, %(at)s, %(principal)s, %(action)s, %(reason)s, %(before)s, %(after)s);

-- name: history
select history_id, memory_id, at, principal, action, reason, before, after
from kos.memory_history where memory_id = %(memory_id)s order by history_id;

-- name: near
select n.memory_id, n.distance from kos.near_memories(%(namespace)s, %(embedding)s, %(distance)s, %(most)s) as n;

-- name: twins
select memory_id from kos.memories
where namespace = %(namespace)s and content_hash = %(content_hash)s and deleted_at is null and note_id is null
order by memory_id limit %(most)s;

-- name: place
select m.memory_id, m.namespace, m.note_id, m.author, m.fold_hash, m.deleted_at, m.deleted_reason
from kos.memories as m where m.memory_id = %(memory_id)s;

-- name: standing
select m.memory_id from kos.memories as m where m.memory_id = any(%(memory_ids)s::uuid[]);

-- name: note_ids
select m.note_id from kos.memories as m where m.memory_id = any(%(memory_ids)s::uuid[]) and m.note_id is not null;

-- name: settle
update kos.memories set
    supersedes = %(supersedes)s, deleted_at = %(deleted_at)s, deleted_reason = %(deleted_reason)s,
    verified_at = %(verified_at)s, verified_by = %(verified_by)s, verified_how = %(verified_how)s, boost = %(boost)s,
    importance = %(boost)s, note_path = %(note_path)s, updated_at = now()
where memory_id = %(memory_id)s;

-- name: by_key
select memory_id, content_hash, deleted_at, supersedes from kos.memories where idempotency_key = %(key)s;

-- name: clock
select clock_timestamp() as now;

-- name: lock_namespace
select pg_advisory_xact_lock(hashtext('kos.gate'), hashtext(%(namespace)s));

-- name: fold_targets
select memory_id, coalesce(folded_into, memory_id) as target_id
from kos.memories where note_id is not null and (deleted_at is null or folded_into is not null);

-- name: counts
select
    count(*) filter (where note_id is not null and deleted_at is null) as live,
    count(*) filter (where note_id is not null and deleted_reason = 'folded') as folded,
    count(*) filter (where note_id is not null and deleted_reason = 'expired') as expired,
    count(*) filter (where note_id is not null and deleted_reason = 'forgotten') as forgotten,
    count(*) filter (where note_id is not null and deleted_at is not null and deleted_reason not in ('folded', 'expired', 'forgotten'))
        as retired,
    count(*) filter (where note_id is null and deleted_at is null) as statements,
    count(*) filter (where note_id is null and deleted_at is not null) as retired_statements
from kos.memories;

-- name: folded
select m.note_path as path, c.note_path as canonical_path, m.memory_id, c.memory_id as canonical_id
from kos.memories as m inner join kos.memories as c on m.folded_into = c.memory_id
where m.deleted_reason = 'folded' order by m.note_path;

-- name: copy_generated
copy kos.memories (
    memory_id, namespace, memory_type, heading, content, provenance, confidence, home, home_path, event_at, event_rule,
    content_hash
) from stdin;

-- name: superseded_live
-- Live statements that a later version still supersedes (H2), whatever became of that one. Members of a circle are left
-- alone, and so is what only its file may change (G4).
with candidates as materialized (
    select m.memory_id, m.namespace
    from kos.memories as m
    where
        m.deleted_at is null and m.note_id is null
        and exists (select 1 from kos.memories as s where s.supersedes = m.memory_id and s.namespace = m.namespace)
)
select c.memory_id
from candidates as c
where not exists (
    with recursive above as (
        select s.memory_id from kos.memories as s where s.supersedes = c.memory_id and s.namespace = c.namespace
        union
        select s.memory_id
        from above as a
        cross join lateral (
            select m.memory_id from kos.memories as m where m.supersedes = a.memory_id and m.namespace = c.namespace offset 0
        ) as s
    )
    select 1 from above as a where a.memory_id = c.memory_id
)
order by c.memory_id limit %(limit)s;

-- name: record_chains
-- Brings kos.chains to what the links say, from the roots upwards, each memory once: a circle has no root. `offset 0`
-- keeps the walk on the index: a chain may be as long as a year of restatements.
with recursive links as materialized (
    select s.memory_id, s.supersedes as older_id, s.namespace
    from kos.memories as s
    inner join kos.memories as o on s.supersedes = o.memory_id and s.namespace = o.namespace
), walk as (
    select distinct l.older_id as root_id, l.older_id as memory_id, l.namespace, 0 as hops
    from links as l where not exists (select 1 from links as b where b.memory_id = l.older_id)
    union all
    select w.root_id, s.memory_id, w.namespace, w.hops + 1
    from walk as w
    cross join lateral (
        select m.memory_id from kos.memories as m where m.supersedes = w.memory_id and m.namespace = w.namespace offset 0
    ) as s
), found as (
    select w.memory_id as tip_id, w.root_id, w.namespace, w.hops as length
    from walk as w
    where w.hops > 2 and not exists (select 1 from links as b where b.older_id = w.memory_id)
), circular as (
    select l.memory_id from links as l where not exists (select 1 from walk as w where w.memory_id = l.memory_id)
), dropped as (
    delete from kos.chains
    where tip_id in (
        select c.tip_id from kos.chains as c
        where not exists (select 1 from found as f where f.tip_id = c.tip_id)
        order by c.tip_id limit %(limit)s
    )
    returning tip_id
), recorded as (
    insert into kos.chains as c (tip_id, root_id, namespace, length, at)
    select f.tip_id, f.root_id, f.namespace, f.length, %(at)s
    from found as f
    left join kos.chains as k on f.tip_id = k.tip_id
    where (k.root_id, k.namespace, k.length) is distinct from (f.root_id, f.namespace, f.length)
    order by f.tip_id limit %(limit)s
    on conflict (tip_id) do update set
        root_id = excluded.root_id, namespace = excluded.namespace, length = excluded.length, at = excluded.at
    returning tip_id
)
select
    (select count(*) from found) as chains,
    (select coalesce(max(f.length), 0) from found as f) as longest,
    (select count(*) from circular) as circular,
    array(select r.tip_id from recorded as r order by r.tip_id) as recorded_ids,
    array(select d.tip_id from dropped as d order by d.tip_id) as dropped_ids,
    array(select c.memory_id from circular as c order by c.memory_id limit 10) as circular_ids;
