-- Around search: embedding models and their switch, traces, calibration, the facts that health models read, near pairs,
-- and who may execute what.

set local role kos_owner;

-- A new model's vectors: its partition and its HNSW index (DDL needs the owner; identifiers are numbers, not text).
create function kos.register_model(p_model_id text, p_dimensions integer, p_recipe jsonb) returns smallint
language plpgsql security definer set search_path = kos, public, pg_temp as $$
declare
    v_key smallint;
begin
    perform pg_advisory_xact_lock(hashtext('kos.register_model'));
    select m.model_key into v_key from kos.embedding_models as m where m.model_id = p_model_id;
    if v_key is null then
        insert into kos.embedding_models (model_id, dimensions, recipe, state)
        values (p_model_id, p_dimensions, p_recipe, 'building') returning model_key into v_key;
    elsif p_dimensions <> (select m.dimensions from kos.embedding_models as m where m.model_key = v_key) then
        raise exception 'embedding model % is known with other dimensions', p_model_id using errcode = 'invalid_parameter_value';
    else
        update kos.embedding_models set state = 'building' where model_key = v_key and state = 'retired';
    end if;
    if to_regclass(format('kos.embeddings_%s', v_key)) is null then
        execute format('create table kos.embeddings_%1$s partition of kos.embeddings for values in (%1$s)', v_key);
        execute format('alter table kos.embeddings_%s enable row level security', v_key);
        execute format('alter table kos.embeddings_%s add check (vector_dims(embedding) = %s)', v_key, p_dimensions);
        execute format(
            'create index on kos.embeddings_%1$s using hnsw ((embedding::halfvec(%2$s)) halfvec_cosine_ops) with (m = 16, ef_construction = 100) where live',
            v_key, p_dimensions
        );
    end if;
    return v_key;
end $$;

-- The switch to another model: one transaction; the old vectors are dropped with their partition (S9).
create function kos.activate_model(p_key smallint) returns void
language plpgsql security definer set search_path = kos, public, pg_temp as $$
declare
    v_old smallint;
begin
    perform pg_advisory_xact_lock(hashtext('kos.register_model'));
    if not exists(select 1 from kos.embedding_models as m where m.model_key = p_key and m.state in ('building', 'active')) then
        raise exception 'embedding model % is not registered', p_key using errcode = 'invalid_parameter_value';
    end if;
    for v_old in select m.model_key from kos.embedding_models as m where m.state = 'active' and m.model_key <> p_key loop
        update kos.embedding_models set state = 'retired' where model_key = v_old;
        execute format('drop table kos.embeddings_%s', v_old);
    end loop;
    update kos.embedding_models set state = 'active', activated_at = now() where model_key = p_key and state = 'building';
end $$;

-- Traces arrive as one batch (R7); the serving role has no right on the tables.
create function kos.record_traces(p_traces jsonb) returns integer
language sql security definer set search_path = kos, public, pg_temp as $$
    with stored as (
        insert into kos.traces (
            trace_id, at, principal, session, namespaces, kind, query, filters, model_id, confidence, results, latency_ms
        )
        select t.trace_id, t.at, t.principal, t.session, t.namespaces, t.kind, t.query, t.filters, t.model_id, t.confidence,
            t.results, t.latency_ms
        from jsonb_to_recordset(p_traces) as t (
            trace_id uuid, at timestamptz, principal text, session text, namespaces text[], kind text, query text,
            filters jsonb, model_id text, confidence text, results jsonb, latency_ms real
        )
        on conflict (trace_id) do nothing
        returning 1
    )
    select count(*)::integer from stored
$$;

-- A full read marks the newest retrieval of the same principal and session that returned the id, within a day.
create function kos.record_reads(p_reads jsonb) returns integer
language sql security definer set search_path = kos, public, pg_temp as $$
    with stored as (
        insert into kos.trace_reads (trace_id, memory_id, at)
        select t.trace_id, r.memory_id, r.at
        from jsonb_to_recordset(p_reads) as r (memory_id uuid, at timestamptz, principal text, session text)
        cross join lateral (
            select s.trace_id from kos.traces as s
            where
                s.principal = r.principal and s.session is not distinct from r.session
                and s.at between r.at - interval '1 day' and r.at
                and s.results @> jsonb_build_array(jsonb_build_object('memory_id', r.memory_id))
            order by s.at desc limit 1
        ) as t
        on conflict do nothing
        returning 1
    )
    select count(*)::integer from stored
$$;

create function kos.current_calibration(
    out model_id text, out rule text, out weak real, out strong real, out at timestamptz
)
language sql stable security definer set search_path = kos, public, pg_temp as $$
    select c.model_id, c.rule, c.weak, c.strong, c.at from kos.calibrations as c
    inner join kos.embedding_models as m on c.model_id = m.model_id and m.state = 'active'
    order by c.calibration_id desc limit 1
$$;

-- What a health model may know of a memory: ids, dates, lengths and flags, never text (S12).
create view kos.memory_facts as
select
    m.memory_id, m.namespace, m.memory_type, m.provenance, m.confidence, m.note_id, m.supersedes, m.folded_into,
    m.event_at, m.created_at, m.updated_at, m.verified_at, m.expires_at, m.deleted_at, m.deleted_reason, m.content_hash,
    m.deleted_at is null and (m.expires_at is null or m.expires_at > now()) as is_live,
    ((select i.indexed_hash from kos.index_state as i where i.memory_id = m.memory_id) is not distinct from m.content_hash) as is_indexed,
    char_length(m.heading) as heading_characters, char_length(m.content) as content_characters,
    (select count(*) from kos.chunks as c where c.memory_id = m.memory_id) as chunks
from kos.memories as m;

-- One row per vector that should exist (a memory, or a chunk that has a vector of its own) or that exists without cause.
create view kos.vector_facts as
select
    coalesce(w.memory_id, e.memory_id) as memory_id, coalesce(w.ordinal, e.ordinal) as ordinal,
    coalesce(w.namespace, e.namespace) as namespace, coalesce(w.is_live, false) as is_live,
    case
        when e.memory_id is null then 'missing'
        when w.memory_id is null then 'orphan'
        when e.content_hash <> w.embed_hash then 'stale'
        else 'current'
    end as state
from (
    select m.memory_id, -1 as ordinal, m.namespace, i.embed_hash,
        m.deleted_at is null and (m.expires_at is null or m.expires_at > now()) as is_live
    from kos.memories as m inner join kos.index_state as i on m.memory_id = i.memory_id
    union all
    select c.memory_id, c.ordinal, c.namespace, c.embed_hash, c.live and (c.expires_at is null or c.expires_at > now())
    from kos.chunks as c where c.embed_hash is not null
) as w
full join (
    select v.memory_id, v.ordinal, v.namespace, v.content_hash
    from kos.embeddings as v
    inner join kos.embedding_models as a on v.model_key = a.model_key and a.state = 'active'
) as e on w.memory_id = e.memory_id and w.ordinal = e.ordinal;

create view kos.trace_facts as
select
    t.trace_id, t.at, t.principal, t.kind, t.confidence, t.latency_ms, jsonb_array_length(t.results) as results,
    (select count(*) from kos.trace_reads as r where r.trace_id = t.trace_id) as reads
from kos.traces as t;

create view kos.note_facts as
select n.note_id, n.namespace, n.deleted_at, (n.synced_hash is not distinct from n.row_hash) as is_synced, n.event_rule, n.stamped
from kos.notes as n;

create view kos.quarantine_facts as
select q.code, q.severity, q.namespace, q.first_seen_at, q.last_seen_at from kos.quarantine as q;

-- Live memories of one namespace within a cosine distance of the given ones (null: of all), each pair once, found
-- through the vector index and not by all pairs (M1). Small stores are compared exactly.
create function kos.near_pairs(p_memories uuid[], p_distance double precision, p_neighbours integer)
returns table (left_id uuid, right_id uuid, namespace text, distance double precision)
language plpgsql stable security definer
set search_path = kos, public, pg_temp
set "hnsw.iterative_scan" = relaxed_order set "hnsw.ef_search" = 100 set "hnsw.max_scan_tuples" = 200000 as $$
declare
    v_model smallint;
    v_cast text;
begin
    select m.model_key, format('::halfvec(%s)', m.dimensions) into v_model, v_cast
    from kos.embedding_models as m where m.state = 'active';
    if v_model is null then
        return;
    end if;
    if (select count(*) <= 1000 from (select 1 from kos.embeddings as e where e.model_key = v_model and e.ordinal = -1 limit 1001) as s) then
        v_cast := '';
    end if;
    return query execute format(
        'select least(e.memory_id, n.memory_id), greatest(e.memory_id, n.memory_id), e.namespace, min(n.distance)
        from kos.embeddings as e
        cross join lateral (
            select o.memory_id, o.embedding%1$s <=> e.embedding%1$s as distance
            from kos.embeddings as o
            where
                o.model_key = %2$s and o.live and o.ordinal = -1 and o.namespace = e.namespace and o.memory_id <> e.memory_id
                and (o.expires_at is null or o.expires_at > now())
            order by o.embedding%1$s <=> e.embedding%1$s limit $2
        ) as n
        where
            e.model_key = %2$s and e.live and e.ordinal = -1 and (e.expires_at is null or e.expires_at > now())
            and n.distance < $1 and ($3 is null or e.memory_id = any($3))
        group by 1, 2, 3', v_cast, v_model
    ) using p_distance, p_neighbours, p_memories;
end $$;

-- The nearest live memory of a namespace, exactly: the gate never trusts an approximate page (G3).
create function kos.nearest_memory(p_namespace text, p_query halfvec)
returns table (memory_id uuid, distance double precision)
language sql stable security definer set search_path = kos, public, pg_temp as $$
    select e.memory_id, e.embedding <=> p_query
    from kos.embeddings as e
    inner join kos.embedding_models as m on e.model_key = m.model_key and m.state = 'active'
    where
        e.namespace = p_namespace and e.live and e.ordinal = -1 and (e.expires_at is null or e.expires_at > now())
    order by e.embedding <=> p_query, e.memory_id limit 1
$$;

-- Whoever writes rows that follow from memories (chunks, vectors) takes their locks first, in the order of ids: a retire
-- that goes on at the same time is then seen by the statements after this one, and two writers never wait in a circle.
create function kos.lock_memories(p_memories uuid[]) returns integer
language sql set search_path = kos, public, pg_temp as $$
    select count(*)::integer from (
        select m.memory_id from kos.memories as m where m.memory_id = any(p_memories) order by m.memory_id for no key update
    ) as l
$$;

revoke all on all functions in schema kos from public;
grant execute on function kos.lock_memories(uuid[]) to kos_writer;
grant execute on function kos.allowed_namespaces(), kos.in_pipeline() to kos_view, kos_reader, kos_writer, kos_auditor, kos_dbt;
grant execute on function kos.enter_pipeline() to kos_writer;
grant execute on function kos.register_model(text, integer, jsonb), kos.activate_model(smallint) to kos_writer;
grant execute on function kos.record_traces(jsonb), kos.record_reads(jsonb), kos.current_calibration() to kos_reader, kos_writer;
grant execute on function kos.near_pairs(uuid[], double precision, integer) to kos_dbt, kos_writer;
grant execute on function kos.nearest_memory(text, halfvec), kos.used_namespaces() to kos_writer;
grant execute on function kos.follow_memory(), kos.count_postings(), kos.count_chunks() to kos_writer;
grant select on kos.memory_facts, kos.vector_facts, kos.trace_facts, kos.note_facts, kos.quarantine_facts to kos_dbt;
grant usage on schema kos to kos_view, kos_reader, kos_writer, kos_auditor, kos_dbt;

set local role kos_view;
revoke all on function
kos.corpus_size(), kos.corpus_languages(), kos.term_weights(text[], integer[]),
kos.filtered_memories(text[], text, timestamptz, timestamptz, timestamptz, integer),
kos.lexical_arm(text[], integer[], integer), kos.lexical_scores(text[], integer[], uuid[]),
kos.posting_scores(bigint, text[], float8[], float8),
kos.dense_arm(smallint, halfvec, integer, uuid[]),
kos.search_candidates(
    text[], integer[], bigint[], smallint, halfvec, uuid[], integer, integer, text[], text, timestamptz, timestamptz,
    timestamptz
),
kos.filtered_page(text[], text, timestamptz, timestamptz, timestamptz, integer)
from public;
grant execute on function
kos.corpus_size(), kos.corpus_languages(), kos.lexical_arm(text[], integer[], integer),
kos.dense_arm(smallint, halfvec, integer, uuid[]),
kos.search_candidates(
    text[], integer[], bigint[], smallint, halfvec, uuid[], integer, integer, text[], text, timestamptz, timestamptz,
    timestamptz
),
kos.filtered_page(text[], text, timestamptz, timestamptz, timestamptz, integer)
to kos_reader, kos_writer;
