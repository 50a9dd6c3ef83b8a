-- Supersede chains longer than two hops: where each begins, where it ends, how long it is (H2). Derived, by hygiene alone.

set local role kos_owner;

-- length: hops from the root to the tip, so one less than the versions. A tip has one chain; branches share a root.
create table kos.chains (
    tip_id uuid primary key references kos.memories (memory_id) on delete cascade,
    root_id uuid not null references kos.memories (memory_id) on delete cascade,
    namespace text not null collate "C",
    length integer not null check (length > 2),
    at timestamptz not null
);
create index chains_root on kos.chains (root_id);

alter table kos.chains enable row level security;
create policy writer on kos.chains to kos_writer
using (kos.in_pipeline() or namespace = any(kos.allowed_namespaces()))
with check (kos.in_pipeline() or namespace = any(kos.allowed_namespaces()));
create policy auditor on kos.chains for select to kos_auditor using (namespace = any(kos.allowed_namespaces()));
grant select, insert, update, delete on kos.chains to kos_writer;
grant select on kos.chains to kos_auditor;

-- Ids and lengths only, for checks and health models (S12).
create view kos.chain_facts as
select c.tip_id, c.root_id, c.namespace, c.length, c.at from kos.chains as c;
grant select on kos.chain_facts to kos_dbt;
