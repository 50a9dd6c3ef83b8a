select
    memory_id,
    ordinal,
    namespace,
    is_live,
    state as vector_state
from {{ source('kos', 'vector_facts') }}
