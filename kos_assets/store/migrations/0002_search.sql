-- The arms of search: functions of kos_view, so that its policies (live, allowed namespace) hold inside them, and the
-- only way in which the serving role reads postings and vectors.

set local role kos_view;

-- Documents and average length in the caller's scope.
create function kos.corpus_size(out documents bigint, out average_length double precision)
language sql stable security definer set search_path = kos, public, pg_temp as $$
    select coalesce(sum(t.documents), 0), greatest(coalesce(sum(t.tokens)::float8 / nullif(sum(t.documents), 0), 1), 1)
    from kos.lexical_totals as t
$$;

-- Languages of the scope's documents, most frequent first; a query is stemmed in those that make up 2 % or more.
create function kos.corpus_languages() returns text []
language sql stable security definer set search_path = kos, public, pg_temp as $$
    select coalesce(array_agg(l.lang order by l.documents desc, l.lang), '{}')
    from (
        select t.lang, sum(t.documents) as documents, sum(sum(t.documents)) over () as total
        from kos.lexical_totals as t group by t.lang
    ) as l
    where l.documents > 0 and l.documents >= 0.02 * l.total
$$;

-- Inverse document frequency of each query term. Terms of one group are the stems of one word in several languages:
-- they share the group's document frequency.
create function kos.term_weights(p_terms text [], p_groups integer [])
returns table (term text, grp integer, documents bigint, idf double precision)
language sql stable security definer set search_path = kos, public, pg_temp as $$
    with counts as (
        select q.term, q.grp, coalesce(sum(l.documents), 0)::bigint as documents
        from unnest(p_terms, p_groups) as q (term, grp)
        left join kos.lexical_terms as l on q.term = l.term
        group by q.term, q.grp
    )
    select
        c.term, c.grp, c.documents,
        ln(1 + (s.documents - g.documents + 0.5) / (g.documents + 0.5))
    from counts as c
    cross join kos.corpus_size() as s
    cross join lateral (
        select least(sum(o.documents), s.documents) as documents from counts as o where o.grp = c.grp
    ) as g
$$;

-- Ids that pass the filters, at most p_limit of them. Null filters pass everything.
create function kos.filtered_memories(
    p_types text [], p_home text, p_since timestamptz, p_until timestamptz, p_as_of timestamptz, p_limit integer
) returns uuid []
language sql stable security definer set search_path = kos, public, pg_temp as $$
    select coalesce(array_agg(f.memory_id), '{}')
    from (
        select m.memory_id from kos.memories as m
        where
            (p_types is null or m.memory_type = any(p_types))
            and (p_home is null or m.home_path = p_home or (m.home_path >= p_home || '/' and m.home_path < p_home || '0'))
            and (p_since is null or m.event_at >= p_since)
            and (p_until is null or m.event_at < p_until)
            and (p_as_of is null or (m.created_at <= p_as_of and (m.event_at is null or m.event_at <= p_as_of)))
        limit p_limit
    ) as f
$$;

-- BM25 (k1 1.2, b 0.75), exact for the first p_limit chunks. Lists are read in impact order: whole while their lengths
-- fit a budget (rarest first), else to a cut. The impact at the cut bounds what was not read; while that bound could
-- change the first p_limit, the budget grows. Proved equal to exhaustive scoring in tests/integration/store.
create function kos.lexical_arm(p_terms text [], p_groups integer [], p_limit integer)
returns table (chunk_id bigint, score double precision)
language plpgsql stable security definer
set search_path = kos, public, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
    v_average float8;
    v_stretch float8;
    v_budget bigint := 24000;
    v_cut integer := 1000;
    v_terms text[];
    v_idf float8[];
    v_limits integer[];
    v_cut_terms text[];
    v_unseen float8;
    v_ids bigint[];
    v_scores float8[];
begin
    select s.average_length into v_average from kos.corpus_size() as s;
    v_stretch := greatest(1, v_average / 100);
    loop
        select array_agg(w.term), array_agg(w.idf), array_agg(w.reach), array_agg(w.term) filter (where w.reach < w.documents)
        into v_terms, v_idf, v_limits, v_cut_terms
        from (
            select
                t.term, t.idf, t.documents,
                case when sum(t.documents) over (order by t.documents, t.term) <= v_budget then 2147483647 else v_cut end as reach
            from kos.term_weights(p_terms, p_groups) as t
        ) as w;
        with lists as materialized (
            select t.term, t.idf, n.namespace, l.chunk_id, l.impact, t.reach,
                t.idf * l.frequency * 2.2 / (l.frequency + 1.2 * (0.25 + 0.75 * l.length / v_average)) as part
            from unnest(v_terms, v_idf, v_limits) as t (term, idf, reach)
            cross join unnest(kos.allowed_namespaces()) as n (namespace)
            cross join lateral (
                select p.chunk_id, p.impact, p.frequency, p.length
                from kos.postings as p
                where p.term = t.term and p.namespace = n.namespace and p.live
                order by p.impact desc
                limit t.reach
            ) as l
        ), bounds as (
            select c.term, max(c.idf) * least(2.2, max(c.cut) * v_stretch) as bound
            from (
                select l.term, l.idf, case when count(*) < l.reach then 0 else min(l.impact) end as cut
                from lists as l
                where l.term = any(v_cut_terms)
                group by l.term, l.idf, l.namespace, l.reach
            ) as c
            group by c.term
        ), total as (
            select coalesce(sum(b.bound), 0) as bound from bounds as b
        ), partial as (
            select l.chunk_id, sum(l.part) as low, coalesce(sum(b.bound), 0) as seen
            from lists as l left join bounds as b on l.term = b.term
            group by l.chunk_id
        ), floor_score as (
            select coalesce((select p.low from partial as p order by p.low desc offset p_limit - 1 limit 1), 0) as low
        ), survivors as (
            select p.chunk_id, p.low
            from partial as p, total as t, floor_score as f
            where p.low + t.bound - p.seen >= f.low
        ), scored as (
            select s.chunk_id, s.low + coalesce(m.part, 0) as score
            from survivors as s
            left join lateral (
                select sum(w.idf * p.frequency * 2.2 / (p.frequency + 1.2 * (0.25 + 0.75 * p.length / v_average))) as part
                from unnest(v_terms, v_idf) as w (term, idf)
                inner join kos.postings as p on p.chunk_id = s.chunk_id and p.term = w.term
                where
                    w.term = any(v_cut_terms)
                    and not exists (select 1 from lists as l where l.chunk_id = s.chunk_id and l.term = w.term)
            ) as m on cardinality(v_cut_terms) > 0
            order by 2 desc, 1
            limit p_limit
        )
        select array_agg(s.chunk_id order by s.score desc, s.chunk_id), array_agg(s.score order by s.score desc, s.chunk_id), max(t.bound)
        into v_ids, v_scores, v_unseen
        from total as t left join scored as s on true;
        exit when v_unseen = 0 or (cardinality(v_ids) >= p_limit and v_unseen <= v_scores[p_limit]);
        v_budget := v_budget * 4;
        v_cut := v_cut * 4;
    end loop;
    return query select u.id, u.score from unnest(v_ids, v_scores) as u (id, score) where u.id is not null;
end $$;

-- The same score for the chunks of given memories, exhaustively: filtered search and completion of the other arm's hits.
create function kos.lexical_scores(p_terms text [], p_groups integer [], p_memories uuid [])
returns table (memory_id uuid, chunk_id bigint, score double precision, matched integer)
language sql stable security definer
set search_path = kos, public, pg_temp as $$
    with weights as materialized (select w.term, w.grp, w.idf from kos.term_weights(p_terms, p_groups) as w)
    select
        c.memory_id, c.chunk_id,
        sum(w.idf * p.frequency * 2.2 / (p.frequency + 1.2 * (0.25 + 0.75 * p.length / s.average_length))),
        count(distinct w.grp)::integer
    from kos.corpus_size() as s, kos.chunks as c
    inner join kos.postings as p on c.chunk_id = p.chunk_id
    inner join weights as w on p.term = w.term
    where c.memory_id = any(p_memories) and p.term = any(p_terms)
    group by c.memory_id, c.chunk_id
$$;

-- Nearest vectors of memories and chunks under one model. A scope or filter that keeps few rows is scanned exactly;
-- otherwise HNSW, iterating until the page is full.
create function kos.dense_arm(p_model smallint, p_query halfvec, p_limit integer, p_memories uuid [])
returns table (memory_id uuid, ordinal integer, cosine double precision)
language plpgsql stable security definer
set search_path = kos, public, pg_temp set plan_cache_mode = force_custom_plan
set hnsw.iterative_scan = relaxed_order set hnsw.ef_search = 160 set hnsw.max_scan_tuples = 200000 as $$
declare
    v_dimensions integer;
begin
    select m.dimensions into v_dimensions from kos.embedding_models as m where m.model_key = p_model and m.state = 'active';
    if v_dimensions is null or vector_dims(p_query) <> v_dimensions then
        raise exception 'vector of % dimensions does not belong to the active embedding model', vector_dims(p_query)
            using errcode = 'invalid_parameter_value';
    end if;
    if p_memories is not null and cardinality(p_memories) <= 4000 then
        return query
        select e.memory_id, e.ordinal, 1 - (e.embedding <=> p_query)
        from kos.embeddings as e
        where e.model_key = p_model and e.memory_id = any(p_memories)
        order by e.embedding <=> p_query, 1, 2 limit p_limit;
    elsif p_memories is null and (select s.documents <= 4000 from kos.corpus_size() as s) then
        return query
        select e.memory_id, e.ordinal, 1 - (e.embedding <=> p_query)
        from kos.embeddings as e
        where e.model_key = p_model
        order by e.embedding <=> p_query, 1, 2 limit p_limit;
    else
        return query execute format(
            'select n.memory_id, n.ordinal, 1 - n.distance from (
                select e.memory_id, e.ordinal, e.embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) as distance
                from kos.embeddings as e
                where e.model_key = %2$s and e.live and ($3 is null or e.memory_id = any($3))
                order by e.embedding::halfvec(%1$s) <=> $1::halfvec(%1$s) limit $2
            ) as n order by n.distance, n.memory_id, n.ordinal', v_dimensions, p_model
        ) using p_query, p_limit, p_memories;
    end if;
end $$;

-- Both arms and the missing score of each candidate, in one call. p_terms or p_query may be null (no such arm).
create function kos.search_candidates(
    p_terms text [], p_groups integer [], p_model smallint, p_query halfvec, p_limit integer,
    p_types text [], p_home text, p_since timestamptz, p_until timestamptz, p_as_of timestamptz
)
returns table (
    memory_id uuid, chunk_id bigint, bm25 double precision, cosine double precision, matched integer, by_words boolean, by_meaning boolean
)
language plpgsql stable security definer
set search_path = kos, public, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
    v_filter uuid[];
    v_words uuid[];
    v_meaning uuid[];
    v_all uuid[];
begin
    if num_nonnulls(p_types, p_home, p_since, p_until, p_as_of) > 0 then
        v_filter := kos.filtered_memories(p_types, p_home, p_since, p_until, p_as_of, null);
    end if;
    if cardinality(p_terms) > 0 then
        if v_filter is null then
            select array_agg(distinct c.memory_id) into v_words
            from kos.lexical_arm(p_terms, p_groups, p_limit) as l inner join kos.chunks as c on l.chunk_id = c.chunk_id;
        else
            select array_agg(distinct f.memory_id) into v_words from (
                select s.memory_id from kos.lexical_scores(p_terms, p_groups, v_filter) as s
                order by s.score desc, s.chunk_id limit p_limit
            ) as f;
        end if;
    end if;
    if p_query is not null then
        select array_agg(distinct d.memory_id) into v_meaning from kos.dense_arm(p_model, p_query, p_limit, v_filter) as d;
    end if;
    v_all := array(select distinct u.id from unnest(v_words || v_meaning) as u (id));
    return query
    with words as (
        select distinct on (s.memory_id) s.memory_id, s.chunk_id, s.score, s.matched
        from kos.lexical_scores(p_terms, p_groups, v_all) as s
        order by s.memory_id asc, s.score desc, s.chunk_id asc
    ), meaning as (
        select distinct on (e.memory_id) e.memory_id, e.ordinal, 1 - (e.embedding <=> p_query) as cosine
        from kos.embeddings as e
        where e.model_key = p_model and e.memory_id = any(v_all) and p_query is not null
        order by e.memory_id asc, e.embedding <=> p_query asc
    )
    select a.id, coalesce(w.chunk_id, c.chunk_id), w.score, m.cosine, coalesce(w.matched, 0),
        coalesce(a.id = any(v_words), false), coalesce(a.id = any(v_meaning), false)
    from unnest(v_all) as a (id)
    left join words as w on a.id = w.memory_id
    left join meaning as m on a.id = m.memory_id
    left join kos.chunks as c on a.id = c.memory_id and greatest(m.ordinal, 0) = c.ordinal;
end $$;

-- Rows chosen by filters alone (a search without a query), newest first.
create function kos.filtered_page(
    p_types text [], p_home text, p_since timestamptz, p_until timestamptz, p_as_of timestamptz, p_limit integer
) returns table (memory_id uuid)
language sql stable security definer set search_path = kos, public, pg_temp as $$
    select m.memory_id from kos.memories as m
    where m.memory_id = any(kos.filtered_memories(p_types, p_home, p_since, p_until, p_as_of, null))
    order by m.event_at desc nulls last, m.memory_id limit p_limit
$$;

create view kos.active_model as
select m.model_key, m.model_id, m.dimensions, m.recipe from kos.embedding_models as m where m.state = 'active';
grant select on kos.active_model to kos_reader, kos_writer, kos_dbt;

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
    else
        update kos.embedding_models set state = 'building' where model_key = v_key and state = 'retired';
    end if;
    if to_regclass(format('kos.embeddings_%s', v_key)) is null then
        execute format('create table kos.embeddings_%1$s partition of kos.embeddings for values in (%1$s)', v_key);
        execute format('alter table kos.embeddings_%s enable row level security', v_key);
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
            trace_id uuid, at timestamptz, principal text, session text, namespaces text [], kind text, query text,
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

create function kos.current_calibration(out model_id text, out weak real, out strong real, out at timestamptz)
language sql stable security definer set search_path = kos, public, pg_temp as $$
    select c.model_id, c.weak, c.strong, c.at from kos.calibrations as c
    inner join kos.embedding_models as m on c.model_id = m.model_id and m.state = 'active'
    order by c.calibration_id desc limit 1
$$;

-- What a health model may know of a memory: ids, dates, lengths and flags, never text (S12).
create view kos.memory_facts as
select
    m.memory_id, m.namespace, m.memory_type, m.provenance, m.confidence, m.note_id, m.supersedes, m.folded_into,
    m.event_at, m.created_at, m.updated_at, m.verified_at, m.expires_at, m.deleted_at, m.deleted_reason, m.content_hash,
    m.deleted_at is null and (m.expires_at is null or m.expires_at > now()) as is_live,
    (select i.indexed_hash from kos.index_state as i where i.memory_id = m.memory_id) is not distinct from m.content_hash as is_indexed,
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
select n.note_id, n.namespace, n.deleted_at, n.synced_hash is not distinct from n.row_hash as is_synced, n.event_rule, n.stamped
from kos.notes as n;

create view kos.quarantine_facts as
select q.code, q.severity, q.namespace, q.first_seen_at, q.last_seen_at from kos.quarantine as q;

-- Live memories of one namespace within a cosine distance of the given ones (null: of all), each pair once, found
-- through the vector index and not by all pairs (M1). Small stores are compared exactly.
create function kos.near_pairs(p_memories uuid [], p_distance double precision, p_neighbours integer)
returns table (left_id uuid, right_id uuid, namespace text, distance double precision)
language plpgsql stable security definer
set search_path = kos, public, pg_temp
set hnsw.iterative_scan = relaxed_order set hnsw.ef_search = 100 set hnsw.max_scan_tuples = 200000 as $$
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
            where o.model_key = %2$s and o.live and o.ordinal = -1 and o.namespace = e.namespace and o.memory_id <> e.memory_id
            order by o.embedding%1$s <=> e.embedding%1$s limit $2
        ) as n
        where e.model_key = %2$s and e.live and e.ordinal = -1 and n.distance < $1 and ($3 is null or e.memory_id = any($3))
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

revoke all on all functions in schema kos from public;
grant execute on function kos.allowed_namespaces(), kos.in_pipeline() to kos_view, kos_reader, kos_writer, kos_auditor, kos_dbt;
grant execute on function kos.enter_pipeline() to kos_writer;
grant execute on function kos.register_model(text, integer, jsonb), kos.activate_model(smallint) to kos_writer;
grant execute on function kos.record_traces(jsonb), kos.record_reads(jsonb), kos.current_calibration() to kos_reader, kos_writer;
grant execute on function kos.near_pairs(uuid [], double precision, integer) to kos_dbt, kos_writer;
grant execute on function kos.nearest_memory(text, halfvec), kos.used_namespaces() to kos_writer;
grant execute on function kos.follow_memory(), kos.count_postings(), kos.count_chunks() to kos_writer;
grant select on kos.memory_facts, kos.vector_facts, kos.trace_facts, kos.note_facts, kos.quarantine_facts to kos_dbt;
grant usage on schema kos to kos_view, kos_reader, kos_writer, kos_auditor, kos_dbt;

set local role kos_view;
revoke all on function
kos.corpus_size(), kos.corpus_languages(), kos.term_weights(text [], integer []),
kos.filtered_memories(text [], text, timestamptz, timestamptz, timestamptz, integer),
kos.lexical_arm(text [], integer [], integer), kos.lexical_scores(text [], integer [], uuid []),
kos.dense_arm(smallint, halfvec, integer, uuid []),
kos.search_candidates(text [], integer [], smallint, halfvec, integer, text [], text, timestamptz, timestamptz, timestamptz),
kos.filtered_page(text [], text, timestamptz, timestamptz, timestamptz, integer)
from public;
grant execute on function
kos.corpus_size(), kos.corpus_languages(), kos.lexical_arm(text [], integer [], integer),
kos.dense_arm(smallint, halfvec, integer, uuid []),
kos.search_candidates(text [], integer [], smallint, halfvec, integer, text [], text, timestamptz, timestamptz, timestamptz),
kos.filtered_page(text [], text, timestamptz, timestamptz, timestamptz, integer)
to kos_reader, kos_writer;
