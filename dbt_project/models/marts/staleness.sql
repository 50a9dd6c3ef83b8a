with dated as (
    select
        memory_id,
        namespace,
        memory_type,
        provenance,
        coalesce(verified_at, event_at, created_at) as confirmed_at
    from {{ ref('stg_memories') }}
    where is_live
),

aged as (
    select
        memory_id,
        namespace,
        memory_type,
        provenance,
        confirmed_at,
        greatest(floor(extract(epoch from {{ as_of() }} - confirmed_at) / 86400), 0)::integer as days
    from dated
)

select
    memory_id,
    namespace,
    memory_type,
    provenance,
    confirmed_at,
    days,
    case
        when days <= 30 then '000-030'
        when days <= 90 then '031-090'
        when days <= 180 then '091-180'
        when days <= 365 then '181-365'
        else '366+'
    end as bucket,
    memory_type = 'semantic' and days > {{ var('stale_after_days') }} as is_stale
from aged
