-- Typed, directed, weighted edges between memories.

-- name: delete_outgoing
delete from kos.edges
where kind = any(%(kinds)s::text[]) and (%(sources)s::uuid[] is null or src_id = any(%(sources)s::uuid[]));

-- name: insert
insert into kos.edges (src_id, kind, dst_id, detail)
select e.src_id, e.kind, e.dst_id, case when e.anchor is null then '{}'::jsonb else jsonb_build_object('anchor', e.anchor) end
from unnest(%(sources)s::uuid[], %(kinds)s::text[], %(targets)s::uuid[], %(anchors)s::text[]) as e (src_id, kind, dst_id, anchor)
on conflict (src_id, kind, dst_id) do nothing;

-- name: relink_similar
with gone as (
    delete from kos.edges
    where
        kind = 'similar_to' and not detail ? 'veto'
        and (src_id = any(%(memory_ids)s::uuid[]) or dst_id = any(%(memory_ids)s::uuid[]))
    returning src_id, dst_id
), pairs as (
    select p.left_id, p.right_id, min(p.distance) as distance
    from kos.near_pairs(%(memory_ids)s::uuid[], %(distance)s, %(neighbours)s) as p
    group by p.left_id, p.right_id
)
insert into kos.edges (src_id, kind, dst_id, weight, provenance, detail)
select p.left_id, 'similar_to', p.right_id, (1 - p.distance)::real, 'derived', jsonb_build_object('distance', round(p.distance::numeric, 4))
from pairs as p
where (select count(*) from gone) >= 0
on conflict (src_id, kind, dst_id) do update set weight = excluded.weight, detail = kos.edges.detail || excluded.detail;

-- name: add
insert into kos.edges (src_id, kind, dst_id, provenance, detail)
values (%(src_id)s, %(kind)s, %(dst_id)s, 'derived', %(detail)s)
on conflict (src_id, kind, dst_id) do update set detail = kos.edges.detail || excluded.detail;

-- name: remove
delete from kos.edges where src_id = %(src_id)s and kind = %(kind)s and dst_id = %(dst_id)s;
