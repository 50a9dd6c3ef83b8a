-- The function reads the same vectors as: {{ source('kos', 'vector_facts') }}
select
    left_id as left_memory_id,
    right_id as right_memory_id,
    namespace,
    distance
from {{ near_pairs() }}
