select
    trace_id,
    at as asked_at,
    kind,
    confidence as answer_confidence,
    latency_ms,
    results,
    reads
from {{ source('kos', 'trace_facts') }}
