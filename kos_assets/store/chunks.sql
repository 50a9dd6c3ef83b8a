-- Chunks, postings and the state of the index.

-- name: unindexed
select
    m.memory_id, m.namespace, m.heading, m.content, m.keywords, m.lang, m.event_at, m.event_zone, m.event_rule, m.expires_at,
    m.content_hash
from kos.live_memories as m
left join kos.index_state as i on m.memory_id = i.memory_id
where i.indexed_hash is distinct from m.content_hash or i.recipe is distinct from %(recipe)s
order by m.memory_id limit %(limit)s;

-- name: lock_memories
select kos.lock_memories(%(memory_ids)s::uuid[]);

-- name: delete_postings
delete from kos.postings
where chunk_id in (select c.chunk_id from kos.chunks as c where c.memory_id = any(%(memory_ids)s::uuid[]));

-- name: delete_chunks
delete from kos.chunks where memory_id = any(%(memory_ids)s::uuid[]);

-- name: insert_chunks
insert into kos.chunks (
    memory_id, ordinal, namespace, live, expires_at, heading_path, body, start_line, end_line, embed_hash, lang, length
)
select
    c.memory_id, c.ordinal, m.namespace, true, m.expires_at, coalesce(string_to_array(nullif(c.heading_path, ''), e'\x1f'), '{}'), c.body,
    c.start_line, c.end_line, c.embed_hash, c.lang, c.length
from unnest(
    %(memory_ids)s::uuid[], %(ordinals)s::integer[], %(heading_paths)s::text[], %(bodies)s::text[],
    %(start_lines)s::integer[], %(end_lines)s::integer[], %(embed_hashes)s::text[], %(langs)s::text[],
    %(lengths)s::integer[]
) as c (memory_id, ordinal, heading_path, body, start_line, end_line, embed_hash, lang, length)
inner join kos.live_memories as m on c.memory_id = m.memory_id
returning chunk_id, memory_id, ordinal;

-- name: insert_postings
insert into kos.postings (chunk_id, expires_at, impact, length, frequency, live, namespace, term)
select p.chunk_id, c.expires_at,
    p.frequency * 2.2 / (p.frequency + 1.2 * (0.25 + 0.75 * c.length / 100.0)),
    c.length, p.frequency, c.live, c.namespace, p.term
from unnest(%(chunk_ids)s::bigint[], %(terms)s::text[], %(frequencies)s::smallint[]) as p (chunk_id, term, frequency)
inner join kos.chunks as c on p.chunk_id = c.chunk_id;

-- name: record_state
insert into kos.index_state (memory_id, indexed_hash, recipe, embed_hash, linked)
select s.memory_id, s.indexed_hash, %(recipe)s, s.embed_hash, false
from unnest(%(memory_ids)s::uuid[], %(indexed_hashes)s::text[], %(embed_hashes)s::text[]) as s (memory_id, indexed_hash, embed_hash)
inner join kos.live_memories as m on s.memory_id = m.memory_id
on conflict (memory_id) do update set
    indexed_hash = excluded.indexed_hash, recipe = excluded.recipe, embed_hash = excluded.embed_hash,
    linked = kos.index_state.linked and kos.index_state.embed_hash = excluded.embed_hash;

-- name: fold_terms
with gone as (
    delete from kos.lexical_terms as l
    where l.term in (
        select d.term from kos.lexical_terms as d group by d.term, d.namespace having count(*) > 1 limit %(limit)s
    )
    returning l.term, l.namespace, l.documents
)
insert into kos.lexical_terms (term, namespace, documents)
select g.term, g.namespace, sum(g.documents) from gone as g
group by g.term, g.namespace having sum(g.documents) <> 0;

-- name: fold_totals
with gone as (
    delete from kos.lexical_totals as t returning t.namespace, t.lang, t.documents, t.tokens
)
insert into kos.lexical_totals (namespace, lang, documents, tokens)
select g.namespace, g.lang, sum(g.documents), sum(g.tokens) from gone as g
group by g.namespace, g.lang having sum(g.documents) <> 0;

-- name: unfolded_terms
select count(*) from (
    select 1 from kos.lexical_terms as d group by d.term, d.namespace having count(*) > 1 limit 1
) as u;
