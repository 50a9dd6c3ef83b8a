-- What waits for a person: stale rows and contradictions (H3, G9). Written by the gate and by hygiene.

-- name: open_item
insert into kos.review_items (kind, namespace, memory_id, other_id, code, opened_at)
values (%(kind)s, %(namespace)s, %(memory_id)s, %(other_id)s, %(code)s, %(at)s)
on conflict (kind, memory_id, other_id) where closed_at is null do nothing
returning item_id;

-- name: close_items
update kos.review_items set closed_at = %(at)s, outcome = %(outcome)s
where
    closed_at is null and kind = %(kind)s and (memory_id = any(%(memory_ids)s::uuid[]) or other_id = any(%(memory_ids)s::uuid[]))
returning item_id, memory_id, other_id;

-- name: pair_is_open
select exists(
    select 1 from kos.review_items
    where
        closed_at is null and kind = 'contradiction'
        and (memory_id, other_id) in ((%(left_id)s, %(right_id)s), (%(right_id)s, %(left_id)s))
) as present;

-- name: close_pair
update kos.review_items set closed_at = %(at)s, outcome = %(outcome)s
where
    closed_at is null and kind = 'contradiction'
    and (memory_id, other_id) in ((%(left_id)s, %(right_id)s), (%(right_id)s, %(left_id)s))
returning item_id;

-- name: counts
select kind, count(*) as items from kos.review_items where closed_at is null group by kind order by kind;

-- name: close_fresh
with over as (
    select
        i.item_id,
        case
            when m.memory_id is null then 'retired'
            when m.verified_at >= %(before)s then 'verified'
            else 'changed'
        end as outcome
    from kos.review_items as i
    left join kos.live_memories as m on i.memory_id = m.memory_id
    where
        i.kind = 'stale' and i.closed_at is null
        and (
            m.memory_id is null or m.namespace <> i.namespace or m.memory_type <> 'semantic'
            or coalesce(m.verified_at, m.event_at, m.created_at) >= %(before)s
        )
    order by i.item_id limit %(limit)s
    for update of i
)
update kos.review_items as r set closed_at = %(at)s, outcome = o.outcome
from over as o where r.item_id = o.item_id
returning r.memory_id;

-- name: open_stale
insert into kos.review_items (kind, namespace, memory_id, code, opened_at)
select
    'stale', m.namespace, m.memory_id,
    case when m.verified_at is null then 'never_verified' else 'verified_long_ago' end, %(at)s
from kos.live_memories as m
where
    m.memory_type = 'semantic' and coalesce(m.verified_at, m.event_at, m.created_at) < %(before)s
    and not exists (
        select 1 from kos.review_items as i where i.kind = 'stale' and i.memory_id = m.memory_id and i.closed_at is null
    )
order by coalesce(m.verified_at, m.event_at, m.created_at), m.memory_id limit %(limit)s
on conflict (kind, memory_id, other_id) where closed_at is null do nothing
returning memory_id;
