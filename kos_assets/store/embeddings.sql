-- Embedding models and vectors.

-- name: active
select model_key, model_id, dimensions, recipe, gate_distance from kos.active_model;

-- name: set_gate_distance
update kos.embedding_models set gate_distance = %(distance)s where model_id = %(model_id)s;

-- name: register
select kos.register_model(%(model_id)s, %(dimensions)s, %(recipe)s) as model_key;

-- name: activate
select kos.activate_model(%(model_key)s::smallint);

-- name: of_memories
select memory_id, ordinal, content_hash, embedding
from kos.embeddings where model_key = %(model_key)s and memory_id = any(%(memory_ids)s::uuid[]);

-- name: delete_stale
delete from kos.embeddings as e
where
    e.memory_id = any(%(memory_ids)s::uuid[])
    and not exists (
        select 1 from kos.index_state as i
        where i.memory_id = e.memory_id and e.ordinal = -1 and i.embed_hash = e.content_hash
    )
    and not exists (
        select 1 from kos.chunks as c
        where c.memory_id = e.memory_id and c.ordinal = e.ordinal and c.embed_hash = e.content_hash
    );

-- name: lock_memories
select kos.lock_memories(%(memory_ids)s::uuid[]);

-- name: insert
insert into kos.embeddings (model_key, memory_id, ordinal, namespace, live, expires_at, content_hash, embedding)
select %(model_key)s, v.memory_id, v.ordinal, m.namespace, true, m.expires_at, v.content_hash, v.embedding::halfvec
from unnest(%(memory_ids)s::uuid[], %(ordinals)s::integer[], %(content_hashes)s::text[], %(embeddings)s::text[])
    as v (memory_id, ordinal, content_hash, embedding)
inner join kos.live_memories as m on v.memory_id = m.memory_id
inner join kos.index_state as i on v.memory_id = i.memory_id
left join kos.chunks as c on v.memory_id = c.memory_id and v.ordinal = c.ordinal
where v.content_hash = case when v.ordinal = -1 then i.embed_hash else c.embed_hash end
on conflict (model_key, memory_id, ordinal) do update set
    content_hash = excluded.content_hash, embedding = excluded.embedding, namespace = excluded.namespace,
    live = excluded.live, expires_at = excluded.expires_at, created_at = now();

-- name: pending
select w.memory_id, w.ordinal, w.embed_hash, m.heading, m.content, w.heading_path, w.body
from (
    select i.memory_id, -1 as ordinal, i.embed_hash, null::text[] as heading_path, null::text as body
    from kos.index_state as i
    union all
    select c.memory_id, c.ordinal, c.embed_hash, c.heading_path, c.body
    from kos.live_chunks as c where c.embed_hash is not null
) as w
inner join kos.live_memories as m on w.memory_id = m.memory_id
left join kos.embeddings as e
    on e.model_key = %(model_key)s and w.memory_id = e.memory_id and w.ordinal = e.ordinal and w.embed_hash = e.content_hash
where e.memory_id is null and w.embed_hash <> all(%(without)s::text[])
order by w.memory_id, w.ordinal limit %(limit)s;

-- name: count_pending
select count(*)
from (
    select i.memory_id, -1 as ordinal, i.embed_hash from kos.index_state as i
    union all
    select c.memory_id, c.ordinal, c.embed_hash from kos.live_chunks as c where c.embed_hash is not null
) as w
inner join kos.live_memories as m on w.memory_id = m.memory_id
left join kos.embeddings as e
    on e.model_key = %(model_key)s and w.memory_id = e.memory_id and w.ordinal = e.ordinal and w.embed_hash = e.content_hash
where e.memory_id is null;

-- name: by_hash
select distinct on (e.content_hash) e.content_hash, e.embedding
from kos.embeddings as e
where e.model_key = %(model_key)s and e.content_hash = any(%(hashes)s::text[])
order by e.content_hash, e.memory_id, e.ordinal;

-- name: unlinked
select i.memory_id
from kos.index_state as i
inner join kos.live_memories as m on i.memory_id = m.memory_id
inner join kos.embeddings as e
    on e.model_key = %(model_key)s and i.memory_id = e.memory_id and e.ordinal = -1 and i.embed_hash = e.content_hash
where not i.linked
order by i.memory_id limit %(limit)s;

-- name: mark_linked
update kos.index_state set linked = true where memory_id = any(%(memory_ids)s::uuid[]);

-- name: unlink_all
update kos.index_state set linked = false;
