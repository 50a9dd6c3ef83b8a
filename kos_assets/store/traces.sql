-- Retention of traces; they are written through kos.record_traces (search.sql).

-- name: prune
delete from kos.traces
where trace_id in (
    select t.trace_id from kos.traces as t
    where t.at < now() - make_interval(days => %(keep_days)s) order by t.at limit %(limit)s
);
