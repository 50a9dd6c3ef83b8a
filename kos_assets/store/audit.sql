-- Reads of the auditor: what was, and what waits for a person. Under row-level security by namespace; never for recall.

-- name: used_namespaces
select kos.used_namespaces() as names;

-- name: chain
with recursive up as (
    select m.memory_id, m.supersedes, 0 as hop from kos.audited_memories as m where m.memory_id = %(memory_id)s
    union
    select m.memory_id, m.supersedes, u.hop - 1
    from up as u inner join kos.audited_memories as m on u.supersedes = m.memory_id
    where u.hop > -%(most)s
), down as (
    select m.memory_id, 0 as hop from kos.audited_memories as m where m.memory_id = %(memory_id)s
    union
    select m.memory_id, d.hop + 1
    from down as d inner join kos.audited_memories as m on d.memory_id = m.supersedes
    where d.hop < %(most)s
), chain as (
    select memory_id, min(hop) as hop from (
        select u.memory_id, u.hop from up as u union all select d.memory_id, d.hop from down as d
    ) as both_ways
    group by memory_id
)
select
    c.hop, m.memory_id, m.namespace, m.memory_type, m.heading, m.content, m.provenance, m.confidence, m.supersedes,
    m.note_path, m.author, m.event_at, m.created_at, m.verified_at, m.verified_by, m.verified_how, m.boost, m.expires_at,
    m.deleted_at, m.retired
from chain as c inner join kos.audited_memories as m on c.memory_id = m.memory_id
order by c.hop, m.created_at, m.memory_id;

-- name: events
select h.memory_id, h.at, h.principal, h.action, h.reason, h.before, h.after
from kos.memory_history as h where h.memory_id = any(%(memory_ids)s::uuid[])
order by h.history_id desc limit %(most)s;

-- name: open_items
select
    i.item_id, i.kind, i.namespace, i.code, i.opened_at,
    m.memory_id, m.heading, m.content, m.event_at, m.created_at, m.verified_at, m.note_path, m.retired,
    o.memory_id as other_id, o.heading as other_heading, o.content as other_content, o.event_at as other_event_at,
    o.created_at as other_created_at, o.verified_at as other_verified_at, o.note_path as other_path,
    o.retired as other_retired
from kos.review_items as i
inner join kos.audited_memories as m on i.memory_id = m.memory_id
left join kos.audited_memories as o on i.other_id = o.memory_id
where i.closed_at is null and (%(kinds)s::text[] is null or i.kind = any(%(kinds)s::text[]))
order by i.opened_at desc, i.item_id desc limit %(most)s;

-- name: pending_path
select f.path from kos.memory_files as f where f.memory_id = %(memory_id)s and f.state = 'pending' order by f.path limit 1;

-- name: held_files
select f.path, f.namespace, f.state, f.code, f.memory_id, f.first_seen_at
from kos.memory_files as f
where f.state <> 'accepted' and (%(states)s::text[] is null or f.state = any(%(states)s::text[]))
order by f.first_seen_at desc, f.path asc limit %(most)s;
