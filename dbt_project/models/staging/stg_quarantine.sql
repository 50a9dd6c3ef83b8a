select
    code,
    severity,
    namespace,
    first_seen_at,
    last_seen_at
from {{ source('kos', 'quarantine_facts') }}
