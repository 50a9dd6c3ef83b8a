-- The index still holds rows that expired since the last expiry: both sides are checked against the live memories.
select
    p.left_memory_id,
    p.right_memory_id,
    p.namespace,
    min(p.distance) as distance
from {{ ref('stg_near_pairs') }} as p
inner join {{ ref('stg_memories') }} as l on p.left_memory_id = l.memory_id
inner join {{ ref('stg_memories') }} as r on p.right_memory_id = r.memory_id
where l.is_live and r.is_live and p.distance < {{ var('gate_distance') }}
group by p.left_memory_id, p.right_memory_id, p.namespace
