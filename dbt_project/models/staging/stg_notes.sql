select
    note_id,
    namespace,
    deleted_at,
    is_synced,
    event_rule,
    stamped as is_stamped
from {{ source('kos', 'note_facts') }}
