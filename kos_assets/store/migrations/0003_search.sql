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
create function kos.corpus_languages() returns text[]
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
create function kos.term_weights(p_terms text[], p_groups integer[])
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

-- Ids that pass the filters, at most p_limit of them. Null filters pass everything. A custom plan each time: only then
-- do the filters that are absent fall away and the ones that are there find their index.
create function kos.filtered_memories(
    p_types text[], p_home text, p_since timestamptz, p_until timestamptz, p_as_of timestamptz, p_limit integer
) returns uuid[]
language plpgsql stable security definer
set search_path = kos, public, pg_temp set plan_cache_mode = force_custom_plan as $$
begin
    return (
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
    );
end $$;

-- What given terms add to one chunk's score. BM25's constants are float8: as numeric they cost more than the scan.
create function kos.posting_scores(p_chunk bigint, p_terms text[], p_idf float8[], p_average float8) returns float8
language sql stable
return coalesce((
    select sum(w.idf * float8 '2.2' * p.frequency / (p.frequency + float8 '0.3' + float8 '0.9' * p.length / p_average))
    from unnest(p_terms, p_idf) as w (term, idf)
    inner join kos.postings as p on w.term = p.term and p.chunk_id = p_chunk
), 0);

-- BM25 (k1 1.2, b 0.75), exact for the first p_limit chunks. Lists are read in impact order: whole while their lengths
-- fit a budget (rarest first), else to a cut. The impact at the cut bounds what was not read; while that bound could
-- change the first p_limit, the budget grows. Proved equal to exhaustive scoring in tests/integration/store, which sets
-- kos.lexical_budget and kos.lexical_cut low enough to force the cut. The bound is widened by the rounding of `impact`.
create function kos.lexical_arm(p_terms text[], p_groups integer[], p_limit integer)
returns table (chunk_id bigint, score double precision)
language plpgsql stable security definer
set search_path = kos, public, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
    v_average float8;
    v_stretch float8;
    v_slope float8;
    v_budget bigint := coalesce(nullif(current_setting('kos.lexical_budget', true), '')::bigint, 150000);
    v_cut integer := greatest(1, coalesce(nullif(current_setting('kos.lexical_cut', true), '')::integer, 4000));
    v_whole constant integer := 2147483647;
    v_terms text[];
    v_idf float8[];
    v_limits integer[];
    v_cut_terms text[];
    v_cut_idf float8[];
    v_unseen float8;
    v_ids bigint[];
    v_scores float8[];
begin
    select s.average_length into v_average from kos.corpus_size() as s;
    v_slope := 0.9 / v_average;
    v_stretch := greatest(1, v_average / 100) * (1 + 1e-6);
    loop
        select array_agg(w.term), array_agg(w.idf), array_agg(w.reach),
            array_agg(w.term) filter (where w.reach < v_whole), array_agg(w.idf) filter (where w.reach < v_whole)
        into v_terms, v_idf, v_limits, v_cut_terms, v_cut_idf
        from (
            select
                t.term, t.idf,
                case when sum(t.documents) over (order by t.documents, t.term) <= v_budget then v_whole else v_cut end as reach
            from (
                select d.term, sum(d.idf) as idf, max(d.documents) as documents
                from kos.term_weights(p_terms, p_groups) as d group by d.term
            ) as t
        ) as w;
        if v_cut_terms is null then
            return query
            select p.chunk_id, sum(t.idf * float8 '2.2' * p.frequency / (p.frequency + float8 '0.3' + v_slope * p.length))
            from unnest(v_terms, v_idf) as t (term, idf)
            cross join unnest(kos.allowed_namespaces()) as n (namespace)
            inner join kos.postings as p on t.term = p.term and n.namespace = p.namespace and p.live
            group by p.chunk_id
            order by 2 desc, 1
            limit p_limit;
            return;
        end if;
        with lists as materialized (
            select t.term, t.idf, n.namespace, l.chunk_id, l.impact, t.reach,
                t.idf * float8 '2.2' * l.frequency / (l.frequency + float8 '0.3' + float8 '0.9' * l.length / v_average) as part
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
        ), partial as materialized (
            select l.chunk_id, coalesce(sum(l.part) filter (where b.term is null), 0) as whole, sum(l.part) as low,
                coalesce(sum(b.bound), 0) as seen
            from lists as l left join bounds as b on l.term = b.term
            group by l.chunk_id
        ), best as materialized (
            select p.chunk_id, p.whole from partial as p order by p.low desc, p.chunk_id limit p_limit
        ), best_scored as materialized (
            select b.chunk_id, b.whole + kos.posting_scores(b.chunk_id, v_cut_terms, v_cut_idf, v_average) as score
            from best as b
        ), floor_score as (
            select case when count(*) = p_limit then min(b.score) else 0 end as score from best_scored as b
        ), scored as (
            select b.chunk_id, b.score from best_scored as b
            union all
            -- whoever could still reach the page by terms that were read to a cut only
            select p.chunk_id, p.whole + kos.posting_scores(p.chunk_id, v_cut_terms, v_cut_idf, v_average)
            from partial as p, total as t, floor_score as f
            where
                p.low + t.bound - p.seen >= f.score
                and not exists (select 1 from best as b where b.chunk_id = p.chunk_id)
        ), page as (
            select s.chunk_id, s.score from scored as s order by s.score desc, s.chunk_id limit p_limit
        )
        select array_agg(s.chunk_id order by s.score desc, s.chunk_id), array_agg(s.score order by s.score desc, s.chunk_id), max(t.bound)
        into v_ids, v_scores, v_unseen
        from total as t left join page as s on true;
        exit when v_unseen = 0 or (cardinality(v_ids) >= p_limit and v_unseen <= v_scores[p_limit]);
        v_budget := greatest(v_budget, 1) * 4;
        v_cut := least(v_cut::bigint * 4, v_whole - 1);
    end loop;
    return query select u.id, u.score from unnest(v_ids, v_scores) as u (id, score) where u.id is not null;
end $$;

-- The same score for the chunks of given memories, exhaustively: filtered search and completion of the other arm's hits.
create function kos.lexical_scores(p_terms text[], p_groups integer[], p_memories uuid[])
returns table (memory_id uuid, chunk_id bigint, score double precision, matched integer, coverage double precision)
language sql stable security definer
set search_path = kos, public, pg_temp as $$
    with weights as materialized (
        select w.term, w.grp, w.idf, row_number() over (partition by w.grp order by w.term) = 1 as is_first
        from kos.term_weights(p_terms, p_groups) as w
    )
    select
        c.memory_id, c.chunk_id,
        sum(w.idf * float8 '2.2' * p.frequency / (p.frequency + float8 '0.3' + float8 '0.9' * p.length / s.average_length)),
        count(distinct w.grp)::integer,
        -- the share of the query's words that the chunk has, each weighted by how rare it is
        (
            select sum(g.idf) from weights as g where g.is_first and g.grp = any(array_agg(w.grp))
        ) / (select nullif(sum(g.idf), 0) from weights as g where g.is_first)
    from kos.corpus_size() as s, kos.chunks as c
    inner join kos.postings as p on c.chunk_id = p.chunk_id
    inner join weights as w on p.term = w.term
    where c.memory_id = any(p_memories) and p.term = any(p_terms)
    group by c.memory_id, c.chunk_id
$$;

-- Nearest vectors of memories and chunks under one model. A scope or filter that keeps at most 12,000 rows is scanned
-- exactly; otherwise HNSW, iterating until the page is full. ef_search 1000 is what brings the recall of the benchmark's
-- generated rows above 0.99 (`kos bench`).
create function kos.dense_arm(p_model smallint, p_query halfvec, p_limit integer, p_memories uuid[])
returns table (memory_id uuid, ordinal integer, cosine double precision)
language plpgsql stable security definer
set search_path = kos, public, pg_temp set plan_cache_mode = force_custom_plan
set "hnsw.iterative_scan" = relaxed_order set "hnsw.ef_search" = 1000 set "hnsw.max_scan_tuples" = 200000 as $$
declare
    v_dimensions integer;
    v_exact integer := coalesce(nullif(current_setting('kos.exact_rows', true), '')::integer, 12000);
begin
    select m.dimensions into v_dimensions from kos.embedding_models as m where m.model_key = p_model and m.state = 'active';
    if v_dimensions is null or vector_dims(p_query) <> v_dimensions then
        raise exception 'vector of % dimensions does not belong to the active embedding model', vector_dims(p_query)
            using errcode = 'invalid_parameter_value';
    end if;
    if p_memories is not null and cardinality(p_memories) <= v_exact then
        return query
        select e.memory_id, e.ordinal, 1 - (e.embedding <=> p_query)
        from kos.embeddings as e
        where e.model_key = p_model and e.memory_id = any(p_memories)
        order by e.embedding <=> p_query, 1, 2 limit p_limit;
    elsif p_memories is null and (select s.documents <= v_exact from kos.corpus_size() as s) then
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

-- Both arms and the missing score of each candidate, in one call. p_terms or p_query may be null (no such arm);
-- p_limit is the page that must be filled, p_depth how much of each arm is looked at first. p_chunks and
-- p_nearest are what the arms gave at that depth, if they were asked before (beside each other); null: ask here.
create function kos.search_candidates(
    p_terms text[], p_groups integer[], p_chunks bigint[], p_model smallint, p_query halfvec, p_nearest uuid[],
    p_depth integer, p_limit integer,
    p_types text[], p_home text, p_since timestamptz, p_until timestamptz, p_as_of timestamptz
)
returns table (
    memory_id uuid, bm25 double precision, cosine double precision, matched integer, coverage double precision,
    by_words boolean, by_meaning boolean, provenance text, confidence real, importance real
)
language plpgsql stable security definer
set search_path = kos, public, pg_temp set plan_cache_mode = force_custom_plan as $$
declare
    v_depth integer := p_depth;
    v_chunks bigint[] := p_chunks;
    v_nearest uuid[] := p_nearest;
    v_filter uuid[];
    v_words uuid[];
    v_meaning uuid[];
    v_all uuid[];
    v_words_go_on boolean := false;
    v_meaning_goes_on boolean := false;
begin
    if num_nonnulls(p_types, p_home, p_since, p_until, p_as_of) > 0 then
        v_filter := kos.filtered_memories(p_types, p_home, p_since, p_until, p_as_of, null);
    end if;
    loop
        if cardinality(p_terms) > 0 and v_filter is null then
            if v_chunks is null then
                v_chunks := array(select l.chunk_id from kos.lexical_arm(p_terms, p_groups, v_depth) as l);
            end if;
            v_words_go_on := cardinality(v_chunks) >= v_depth;
            v_words := array(select distinct c.memory_id from kos.chunks as c where c.chunk_id = any(v_chunks));
            v_chunks := null;
        elsif cardinality(p_terms) > 0 then
            select array_agg(distinct f.memory_id), count(*) >= v_depth into v_words, v_words_go_on
            from (
                select s.memory_id from kos.lexical_scores(p_terms, p_groups, v_filter) as s
                order by s.score desc, s.chunk_id limit v_depth
            ) as f;
        end if;
        if p_query is not null then
            if v_nearest is null then
                v_nearest := array(select d.memory_id from kos.dense_arm(p_model, p_query, v_depth, v_filter) as d);
            end if;
            v_meaning_goes_on := cardinality(v_nearest) >= v_depth;
            v_meaning := array(select distinct u.id from unnest(v_nearest) as u (id));
            v_nearest := null;
        end if;
        v_all := array(select distinct u.id from unnest(v_words || v_meaning) as u (id));
        -- several chunks of few memories can fill an arm: look further until the page is full or nothing is left
        exit when cardinality(v_all) >= p_limit or not (v_words_go_on or v_meaning_goes_on);
        v_depth := v_depth * 4;
    end loop;
    return query
    with words as (
        select distinct on (s.memory_id) s.memory_id, s.score, s.matched, s.coverage
        from kos.lexical_scores(p_terms, p_groups, v_all) as s
        order by s.memory_id asc, s.score desc, s.chunk_id asc
    ), meaning as (
        select distinct on (e.memory_id) e.memory_id, 1 - (e.embedding <=> p_query) as cosine
        from kos.embeddings as e
        where e.model_key = p_model and e.memory_id = any(v_all) and p_query is not null
        order by e.memory_id asc, e.embedding <=> p_query asc
    )
    select m.memory_id, w.score, v.cosine, coalesce(w.matched, 0), coalesce(w.coverage, 0),
        coalesce(m.memory_id = any(v_words), false), coalesce(m.memory_id = any(v_meaning), false),
        m.provenance, m.confidence, m.importance
    from kos.memories as m
    left join words as w on m.memory_id = w.memory_id
    left join meaning as v on m.memory_id = v.memory_id
    where m.memory_id = any(v_all);
end $$;

-- Rows chosen by filters alone (a search without a query), newest first.
create function kos.filtered_page(
    p_types text[], p_home text, p_since timestamptz, p_until timestamptz, p_as_of timestamptz, p_limit integer
) returns table (memory_id uuid)
language sql stable security definer set search_path = kos, public, pg_temp as $$
    select m.memory_id from kos.memories as m
    where m.memory_id = any(kos.filtered_memories(p_types, p_home, p_since, p_until, p_as_of, null))
    order by m.event_at desc nulls last, m.memory_id limit p_limit
$$;

create view kos.active_model as
select m.model_key, m.model_id, m.dimensions, m.recipe from kos.embedding_models as m where m.state = 'active';
grant select on kos.active_model to kos_reader, kos_writer, kos_dbt;
