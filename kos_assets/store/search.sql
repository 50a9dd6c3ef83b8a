-- The reading side: what the serving role may ask.

-- name: languages
select kos.corpus_languages() as languages;

-- name: active
select model_key, model_id, dimensions, recipe from kos.active_model;

-- name: candidates
select
    memory_id, bm25, cosine, matched, coverage, by_words, by_meaning, provenance, confidence, importance
from kos.search_candidates(
    %(terms)s::text[], %(groups)s::integer[], %(chunks)s::bigint[], %(model_key)s::smallint, %(query)s::text::halfvec,
    %(nearest)s::uuid[], %(depth)s::integer, %(limit)s::integer,
    %(types)s::text[], %(home)s::text, %(since)s::timestamptz, %(until)s::timestamptz, %(as_of)s::timestamptz
);

-- name: lexical
select l.chunk_id, l.score from kos.lexical_arm(%(terms)s::text[], %(groups)s::integer[], %(limit)s::integer) as l;

-- name: dense
select d.memory_id, d.ordinal, d.cosine
from kos.dense_arm(%(model_key)s::smallint, %(query)s::text::halfvec, %(limit)s::integer, %(memory_ids)s::uuid[]) as d;

-- name: filtered
select f.memory_id
from kos.filtered_page(
    %(types)s::text[], %(home)s::text, %(since)s::timestamptz, %(until)s::timestamptz, %(as_of)s::timestamptz,
    %(limit)s::integer
) as f;

-- name: lines
select
    m.memory_id, m.namespace, m.memory_type, m.heading, left(m.content, 2000) as content,
    char_length(m.content) as characters, m.provenance, m.confidence,
    m.importance, m.event_at, m.event_rule, m.verified_at, m.note_path, (m.content_hash is distinct from m.indexed_hash) as index_behind,
    (
        m.memory_type = 'semantic'
        and coalesce(m.verified_at, m.event_at, m.created_at) < now() - make_interval(days => %(stale_days)s::integer)
    ) as stale
from kos.live_memories as m
where m.memory_id = any(%(memory_ids)s::uuid[]);

-- name: whole
select
    m.memory_id, m.namespace, m.memory_type, m.heading, m.content, m.provenance, m.confidence, m.author, m.event_at,
    m.event_rule, m.verified_at, m.note_path, m.home_path, m.created_at, m.updated_at, m.expires_at,
    (m.content_hash is distinct from m.indexed_hash) as index_behind,
    (
        m.memory_type = 'semantic'
        and coalesce(m.verified_at, m.event_at, m.created_at) < now() - make_interval(days => %(stale_days)s::integer)
    ) as stale
from kos.live_memories as m
where m.memory_id = any(%(memory_ids)s::uuid[]);

-- name: similar
select e.src_id, e.dst_id
from kos.live_edges as e
where e.kind = 'similar_to' and e.src_id = any(%(memory_ids)s::uuid[]) and e.dst_id = any(%(memory_ids)s::uuid[]);

-- name: calibration
select c.model_id, c.rule, c.weak, c.strong, c.at from kos.current_calibration() as c;

-- name: record_traces
select kos.record_traces(%(traces)s) as stored;

-- name: record_reads
select kos.record_reads(%(reads)s) as stored;

-- name: corpus
select s.documents, s.average_length from kos.corpus_size() as s;
