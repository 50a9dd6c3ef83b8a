-- A second store beside the live one: what the two are compared by, what is carried over, and the switch.
-- Names of databases are composed in store/rebuild.py.

-- name: memories
select
    m.memory_id, m.namespace, m.memory_type, m.heading, md5(m.content) as content, m.provenance,
    round(m.confidence::numeric, 4) as confidence, m.supersedes, m.note_path, m.author, m.event_at, m.verified_at,
    m.verified_by, m.verified_how, round(m.boost::numeric, 4) as boost, m.expires_at, m.retired, m.note_id is null as is_statement,
    m.note_id is not null or exists (
        select 1 from kos.memory_files as f where f.memory_id = m.memory_id and f.state = 'accepted'
    ) as stands
from kos.audited_memories as m;

-- name: edges
select e.src_id, e.kind, e.dst_id, e.detail ->> 'veto' as veto, e.detail ->> 'code' as code
from kos.edges as e
where e.kind not in ('similar_to') or e.detail ? 'veto';

-- name: blocked
select q.path, q.code from kos.quarantine as q where q.severity = 'blocked';

-- name: reviews
select i.memory_id, i.other_id, i.code from kos.review_items as i where i.closed_at is null and i.kind = 'contradiction';

-- name: vectors_by_hash
select distinct on (e.content_hash) e.content_hash, e.embedding
from kos.embeddings as e
inner join kos.active_model as a on e.model_key = a.model_key
where e.content_hash = any(%(hashes)s::text[]) and a.model_id = %(model_id)s;

-- name: gate_distance
update kos.embedding_models as m set gate_distance = %(distance)s where m.model_id = %(model_id)s;

-- name: birthdays
select m.memory_id, m.created_at from kos.audited_memories as m where m.note_id is not null;

-- name: known_memories
select m.memory_id from kos.audited_memories as m;

-- name: clear_history
delete from kos.memory_history;

-- name: history_out
copy (
    select memory_id, namespace, at, principal, action, reason, before, after from kos.memory_history
    where memory_id in (select k.memory_id from carried_memories as k) order by history_id
) to stdout;

-- name: history_in
copy kos.memory_history (memory_id, namespace, at, principal, action, reason, before, after) from stdin;

-- name: traces_out
copy (
    select trace_id, at, principal, session, namespaces, kind, query, filters, model_id, confidence, results, latency_ms
    from kos.traces
) to stdout;

-- name: traces_in
copy kos.traces (
    trace_id, at, principal, session, namespaces, kind, query, filters, model_id, confidence, results, latency_ms
) from stdin;

-- name: reads_out
copy (select trace_id, memory_id, at from kos.trace_reads) to stdout;

-- name: reads_in
copy kos.trace_reads (trace_id, memory_id, at) from stdin;

-- name: calibrations_out
copy (
    select at, model_id, rule, weak, strong, corpus_memories, inputs_hash, report from kos.calibrations order by calibration_id
) to stdout;

-- name: calibrations_in
copy kos.calibrations (at, model_id, rule, weak, strong, corpus_memories, inputs_hash, report) from stdin;

-- name: health_out
copy (select at, metric, value, detail from kos.health_snapshots) to stdout;

-- name: health_in
copy kos.health_snapshots (at, metric, value, detail) from stdin;

-- name: lanes_out
copy (select provider, state, paused_until, reason, failures, updated_at from kos.lanes) to stdout;

-- name: lanes_in
copy kos.lanes (provider, state, paused_until, reason, failures, updated_at) from stdin;

-- name: carried_memories
create temporary table carried_memories (memory_id uuid primary key) on commit drop;

-- name: carried_in
copy carried_memories (memory_id) from stdin;

-- name: set_births
select kos.keep_birthdays(%(memory_ids)s::uuid[], %(births)s::timestamptz[]);

-- name: active_model
select model_id, gate_distance from kos.active_model;

-- name: end_others
select count(pg_terminate_backend(pid)) as ended from pg_stat_activity
where datname = any(%(names)s::text[]) and pid <> pg_backend_pid();
