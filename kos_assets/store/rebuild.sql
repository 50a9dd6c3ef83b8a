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

-- name: indexed
select
    m.memory_id, m.home_path, m.event_zone,
    (select count(*) from kos.live_chunks as c where c.memory_id = m.memory_id) as passages,
    (
        select count(*) from kos.live_embeddings as e
        where e.memory_id = m.memory_id and e.model_key = (select a.model_key from kos.active_model as a)
    ) as vectors
from kos.live_memories as m;

-- name: erasures
select count(*) from kos.decisions as d where d.op = 'erase';

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

-- name: birthdays
select m.memory_id, m.created_at from kos.audited_memories as m where m.note_id is not null;

-- name: set_births
select kos.keep_birthdays(%(memory_ids)s::uuid[], %(births)s::timestamptz[]);

-- name: known_memories
select m.memory_id from kos.audited_memories as m;

-- name: with_history
select distinct h.memory_id from kos.memory_history as h;

-- name: carried_memories
create temporary table carried_memories (memory_id uuid primary key) on commit drop;

-- name: carried_in
copy carried_memories (memory_id) from stdin;

-- name: clear_history
delete from kos.memory_history where memory_id in (select k.memory_id from carried_memories as k);

-- name: history_out
copy (
    select memory_id, namespace, at, principal, action, reason, before, after from kos.memory_history
    where memory_id in (select k.memory_id from carried_memories as k) order by history_id
) to stdout;

-- name: history_in
copy kos.memory_history (memory_id, namespace, at, principal, action, reason, before, after) from stdin;

-- name: traces_table
create temporary table carried_traces on commit drop as
select trace_id, at, principal, session, namespaces, kind, query, filters, model_id, confidence, results, latency_ms
from kos.traces with no data;

-- name: traces_out
copy (
    select trace_id, at, principal, session, namespaces, kind, query, filters, model_id, confidence, results, latency_ms
    from kos.traces
    where %(since)s::timestamptz is null or at >= %(since)s
) to stdout;

-- name: traces_in
copy carried_traces (
    trace_id, at, principal, session, namespaces, kind, query, filters, model_id, confidence, results, latency_ms
) from stdin;

-- name: traces_keep
insert into kos.traces (
    trace_id, at, principal, session, namespaces, kind, query, filters, model_id, confidence, results, latency_ms
)
select
    trace_id, at, principal, session, namespaces, kind, query, filters, model_id, confidence, results, latency_ms
from carried_traces on conflict (trace_id) do nothing;

-- name: reads_table
create temporary table carried_reads on commit drop as
select trace_id, memory_id, at from kos.trace_reads with no data;

-- name: reads_out
copy (
    select trace_id, memory_id, at from kos.trace_reads
    where %(since)s::timestamptz is null or at >= %(since)s
) to stdout;

-- name: reads_in
copy carried_reads (trace_id, memory_id, at) from stdin;

-- name: reads_keep
insert into kos.trace_reads (trace_id, memory_id, at)
select r.trace_id, r.memory_id, r.at from carried_reads as r
inner join kos.traces as t on r.trace_id = t.trace_id
on conflict (trace_id, memory_id) do nothing;

-- name: calibrations_table
create temporary table carried_calibrations on commit drop as
select at, model_id, rule, weak, strong, corpus_memories, inputs_hash, report from kos.calibrations with no data;

-- name: calibrations_out
copy (
    select at, model_id, rule, weak, strong, corpus_memories, inputs_hash, report from kos.calibrations
    where %(since)s::timestamptz is null or at >= %(since)s
) to stdout;

-- name: calibrations_in
copy carried_calibrations (at, model_id, rule, weak, strong, corpus_memories, inputs_hash, report) from stdin;

-- name: calibrations_keep
insert into kos.calibrations (at, model_id, rule, weak, strong, corpus_memories, inputs_hash, report)
select k.at, k.model_id, k.rule, k.weak, k.strong, k.corpus_memories, k.inputs_hash, k.report
from carried_calibrations as k
where not exists (select 1 from kos.calibrations as c where c.at = k.at and c.inputs_hash = k.inputs_hash)
order by k.at;

-- name: health_table
create temporary table carried_health on commit drop as
select at, metric, value, detail from kos.health_snapshots with no data;

-- name: health_out
copy (
    select at, metric, value, detail from kos.health_snapshots
    where %(since)s::timestamptz is null or at >= %(since)s
) to stdout;

-- name: health_in
copy carried_health (at, metric, value, detail) from stdin;

-- name: health_keep
insert into kos.health_snapshots (at, metric, value, detail)
select at, metric, value, detail from carried_health on conflict (at, metric) do nothing;

-- name: lanes_table
create temporary table carried_lanes on commit drop as
select provider, state, paused_until, reason, failures, updated_at from kos.lanes with no data;

-- name: lanes_out
copy (
    select provider, state, paused_until, reason, failures, updated_at from kos.lanes
) to stdout;

-- name: lanes_in
copy carried_lanes (provider, state, paused_until, reason, failures, updated_at) from stdin;

-- name: lanes_keep
insert into kos.lanes (provider, state, paused_until, reason, failures, updated_at)
select provider, state, paused_until, reason, failures, updated_at from carried_lanes
on conflict (provider) do update set
    state = excluded.state, paused_until = excluded.paused_until, reason = excluded.reason,
    failures = excluded.failures, updated_at = excluded.updated_at
where kos.lanes.updated_at <= excluded.updated_at;

-- name: take_turn
select pg_try_advisory_lock(hashtext('kos.rebuild'), hashtext(%(live)s)) as taken;

-- name: databases
select datname::text from pg_database order by datname;

-- name: may_rename
select r.rolsuper or (r.rolcreatedb and pg_has_role(d.datdba, 'USAGE')) as allowed
from pg_database as d, pg_roles as r
where d.datname = %(live)s and r.rolname = current_user;

-- name: end_others
select
    count(case when a.may_end then pg_terminate_backend(a.pid) end) as ended,
    array_agg(distinct a.usename::text) filter (where not a.may_end) as beyond
from (
    select
        s.pid, s.usename,
        pg_has_role(s.usesysid, 'USAGE') or (pg_has_role('pg_signal_backend', 'USAGE') and not r.rolsuper) as may_end
    from pg_stat_activity as s
    inner join pg_roles as r on s.usesysid = r.oid
    where s.datname = any(%(names)s::text[]) and s.pid <> pg_backend_pid()
) as a;
