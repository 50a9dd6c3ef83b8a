select
    namespace,
    memory_type,
    bucket,
    count(*) as memories,
    count(*) filter (where is_stale) as stale_memories,
    min(days) as youngest_days,
    max(days) as oldest_days
from {{ ref('staleness') }}
group by namespace, memory_type, bucket
