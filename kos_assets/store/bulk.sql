-- Loading generated rows for the benchmark, as the owner: COPY does not work under row-level security.

-- name: copy_state
copy kos.index_state (memory_id, indexed_hash, recipe, embed_hash, linked) from stdin;

-- name: copy_chunks
copy kos.chunks (
    chunk_id, memory_id, ordinal, namespace, live, heading_path, body, start_line, end_line, embed_hash, lang, length
) from stdin;

-- name: copy_postings
copy kos.postings (chunk_id, impact, length, frequency, live, namespace, term) from stdin;

-- name: copy_embeddings
copy kos.embeddings (model_key, memory_id, ordinal, namespace, live, content_hash, embedding) from stdin;

-- name: last_chunk
select coalesce(max(chunk_id), 0) from kos.chunks;

-- name: set_last_chunk
select setval(pg_get_serial_sequence('kos.chunks', 'chunk_id'), %(last)s);

-- name: drop_vector_index
do $$
declare
    v_index record;
begin
    for v_index in
        select i.indexrelid::regclass as name, pg_get_indexdef(i.indexrelid) as definition
        from pg_index as i
        inner join pg_class as c on i.indexrelid = c.oid
        inner join pg_am as a on c.relam = a.oid and a.amname = 'hnsw'
        inner join pg_inherits as h on i.indrelid = h.inhrelid and h.inhparent = 'kos.embeddings'::regclass
    loop
        perform set_config('kos.bulk_index', v_index.definition, false);
        execute 'drop index ' || v_index.name::text;
    end loop;
end $$;

-- name: build_vector_index
do $$
begin
    execute current_setting('kos.bulk_index');
end $$;

-- name: vacuum
vacuum (analyze);

-- name: sizes
select
    pg_database_size(current_database()) as database_bytes,
    pg_total_relation_size('kos.postings') as postings_bytes,
    (select sum(pg_total_relation_size(h.inhrelid)) from pg_inherits as h where h.inhparent = 'kos.embeddings'::regclass)
        as embeddings_bytes;
