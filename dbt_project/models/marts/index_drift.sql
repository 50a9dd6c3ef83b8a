with vectors_per_memory as (
    select
        memory_id,
        count(*) as vectors,
        count(*) filter (where vector_state = 'missing') as missing_vectors,
        count(*) filter (where vector_state = 'stale') as stale_vectors
    from {{ ref('stg_vectors') }}
    where vector_state <> 'orphan'
    group by memory_id
),

measured as (
    select
        m.namespace,
        not m.is_indexed as is_unindexed,
        coalesce(v.vectors, 0) as vectors,
        coalesce(v.missing_vectors, 0) as missing_vectors,
        coalesce(v.stale_vectors, 0) as stale_vectors
    from {{ ref('stg_memories') }} as m
    left join vectors_per_memory as v on m.memory_id = v.memory_id
    where m.is_live
),

live as (
    select
        namespace,
        count(*) as live_memories,
        count(*) filter (where is_unindexed) as unindexed,
        sum(vectors) as vectors,
        sum(missing_vectors) as missing_vectors,
        sum(stale_vectors) as stale_vectors,
        count(*) filter (where is_unindexed or missing_vectors + stale_vectors > 0) as drifted
    from measured
    group by namespace
),

orphans as (
    select
        namespace,
        count(*) as orphan_vectors
    from {{ ref('stg_vectors') }}
    where vector_state = 'orphan'
    group by namespace
)

select
    coalesce(l.namespace, o.namespace) as namespace,
    coalesce(l.live_memories, 0) as live_memories,
    coalesce(l.unindexed, 0) as unindexed,
    coalesce(l.vectors, 0)::bigint as vectors,
    coalesce(l.missing_vectors, 0)::bigint as missing_vectors,
    coalesce(l.stale_vectors, 0)::bigint as stale_vectors,
    coalesce(o.orphan_vectors, 0) as orphan_vectors,
    coalesce(l.drifted, 0) as drifted,
    {{ ratio('l.drifted', 'l.live_memories') }} as rate
from live as l
full join orphans as o on l.namespace = o.namespace
