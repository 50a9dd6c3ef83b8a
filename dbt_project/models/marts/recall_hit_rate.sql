-- An empty answer cannot be read: it is counted apart and is not in the rate.
select
    (asked_at at time zone 'utc')::date as day,
    kind,
    count(*) as retrievals,
    count(*) filter (where results = 0) as empty_answers,
    count(*) filter (where results > 0 and reads > 0) as followed_by_read,
    {{ ratio('count(*) filter (where results > 0 and reads > 0)', 'count(*) filter (where results > 0)') }} as rate,
    percentile_cont(0.5) within group (order by latency_ms) as latency_p50_ms,
    percentile_cont(0.95) within group (order by latency_ms) as latency_p95_ms
from {{ ref('stg_traces') }}
where asked_at >= {{ as_of() }} - make_interval(days => {{ var('recall_window_days') }})
group by day, kind
