with members as (
    select
        namespace,
        left_memory_id as memory_id
    from {{ ref('duplicate_pairs') }}
    union
    select
        namespace,
        right_memory_id as memory_id
    from {{ ref('duplicate_pairs') }}
),

members_per_namespace as (
    select
        namespace,
        count(*) as memories
    from members
    group by namespace
),

pairs_per_namespace as (
    select
        namespace,
        count(*) as pairs
    from {{ ref('duplicate_pairs') }}
    group by namespace
),

live as (
    select
        namespace,
        count(*) as memories
    from {{ ref('stg_memories') }}
    where is_live
    group by namespace
)

select
    l.namespace,
    l.memories as live_memories,
    coalesce(p.pairs, 0) as pairs,
    coalesce(m.memories, 0) as memories_in_pairs,
    {{ ratio('m.memories', 'l.memories') }} as rate
from live as l
left join pairs_per_namespace as p on l.namespace = p.namespace
left join members_per_namespace as m on l.namespace = m.namespace
