-- Health metrics: what dbt measured, and its history.

-- name: summary
select metric, namespace, value, part, whole from kos_marts.health_summary order by metric, namespace;

-- name: record_snapshot
insert into kos.health_snapshots (at, metric, value, detail) values (%(at)s, %(metric)s, %(value)s, %(detail)s)
on conflict (at, metric) do update set value = excluded.value, detail = excluded.detail;

-- name: history
select at, metric, value
from kos.health_snapshots
where at in (select distinct s.at from kos.health_snapshots as s where s.at < %(before)s order by s.at desc limit %(snapshots)s)
order by at, metric;
