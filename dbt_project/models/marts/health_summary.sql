with measured as (
    select
        'stale_share' as metric,
        namespace,
        sum(stale_memories) as part,
        sum(memories) as whole
    from {{ ref('staleness_distribution') }}
    group by namespace
    union all
    select
        'duplicate_rate' as metric,
        namespace,
        memories_in_pairs as part,
        live_memories as whole
    from {{ ref('duplicate_rate') }}
    union all
    select
        'unindexed_share' as metric,
        namespace,
        unindexed as part,
        live_memories as whole
    from {{ ref('index_drift') }}
    union all
    select
        'missing_vector_share' as metric,
        namespace,
        missing_vectors as part,
        vectors as whole
    from {{ ref('index_drift') }}
    union all
    select
        'stale_vector_share' as metric,
        namespace,
        stale_vectors as part,
        vectors as whole
    from {{ ref('index_drift') }}
    union all
    select
        'orphan_vectors' as metric,
        namespace,
        orphan_vectors as part,
        vectors as whole
    from {{ ref('index_drift') }}
    union all
    select
        'unsynced_note_share' as metric,
        namespace,
        count(*) filter (where not is_synced) as part,
        count(*) as whole
    from {{ ref('stg_notes') }}
    where deleted_at is null
    group by namespace
    union all
    select
        'blocked_files' as metric,
        namespace,
        count(*) filter (where severity = 'blocked') as part,
        count(*) as whole
    from {{ ref('stg_quarantine') }}
    group by namespace
),

-- Traces span namespaces, so these two exist for the whole store only.
recalled as (
    select
        sum(followed_by_read) as followed_by_read,
        sum(empty_answers) as empty_answers,
        sum(retrievals) as retrievals
    from {{ ref('recall_hit_rate') }}
),

totals as (
    select
        known.metric,
        '*' as namespace,
        coalesce(sum(m.part), 0) as part,
        coalesce(sum(m.whole), 0) as whole
    from (
        values
        ('stale_share'), ('duplicate_rate'), ('unindexed_share'), ('missing_vector_share'), ('stale_vector_share'),
        ('orphan_vectors'), ('unsynced_note_share'), ('blocked_files')
    ) as known (metric)
    left join measured as m on known.metric = m.metric
    group by known.metric
    union all
    select
        'recall_hit_rate' as metric,
        '*' as namespace,
        coalesce(followed_by_read, 0) as part,
        coalesce(retrievals - empty_answers, 0) as whole
    from recalled
    union all
    select
        'recall_empty_rate' as metric,
        '*' as namespace,
        coalesce(empty_answers, 0) as part,
        coalesce(retrievals, 0) as whole
    from recalled
),

every_row as (
    select
        metric,
        namespace,
        part,
        whole
    from measured
    union all
    select
        metric,
        namespace,
        part,
        whole
    from totals
)

select
    metric,
    namespace,
    part::bigint as part,
    whole::bigint as whole,
    case when metric in ('blocked_files', 'orphan_vectors') then part::double precision else {{ ratio('part', 'whole') }} end as value
from every_row
