-- When a note's memory was first seen is in no file: a rebuilt store takes it over from the one that it replaces, so that
-- "as of" keeps its meaning. For administrators alone.

set local role kos_owner;

-- Which records join a memory to others: asked when its row comes later than theirs.
create index decisions_edges on kos.decisions using gin (body jsonb_path_ops) where body ? 'edges';

create function kos.keep_birthdays(p_memories uuid[], p_births timestamptz[]) returns integer
language sql set search_path = kos, public, pg_temp as $$
    with kept as (
        update kos.memories as m set created_at = b.birth
        from unnest(p_memories, p_births) as b (memory_id, birth)
        where m.memory_id = b.memory_id and m.note_id is not null and m.created_at > b.birth
        returning 1
    )
    select count(*)::integer from kept
$$;
revoke all on function kos.keep_birthdays(uuid[], timestamptz[]) from public;
