-- The life of a memory: decisions (the index of the vault's ledger), the files of statements, review lists, the exact
-- near matches of the gate, verification and boost, and what the auditor may read.

set local role kos_owner;

alter table kos.memories add column verified_how text;
alter table kos.memories add column boost real not null default 1 check (boost between 0.25 and 4);
-- A recorded outcome stands although the older row's file, and so its row, is gone after a rebuild.
alter table kos.memories drop constraint memories_supersedes_fkey;
create index memories_content on kos.memories (namespace, content_hash) where deleted_at is null and note_id is null;
create index memories_retired on kos.memories (namespace, deleted_at desc) where deleted_at is not null;

alter table kos.memory_history drop constraint memory_history_action_check;
alter table kos.memory_history add constraint memory_history_action_check check (
    action in (
        'insert', 'update', 'supersede', 'veto', 'contradict', 'fold', 'retire', 'restore', 'undo', 'expire', 'forget',
        'verify', 'annotate', 'compact', 'resolve'
    )
);

-- The distance below which two statements of this model are one (G3), once a calibration has kept it.
alter table kos.embedding_models add column gate_distance real check (gate_distance > 0 and gate_distance < 1);

-- The ledger's records, as written by the gate or read by a scan (V6). Ids, codes and keyed hashes, never text.
create table kos.decisions (
    machine text not null collate "C",
    month text not null collate "C",
    seq integer not null,
    at timestamptz not null,
    principal text not null,
    op text not null,
    subject text not null collate "C",
    other text collate "C",
    namespace text collate "C",
    body jsonb not null,
    -- False until the rows that the record is about have followed it.
    settled boolean not null,
    primary key (machine, month, seq)
);
create index decisions_unsettled on kos.decisions (at) where not settled;
create index decisions_subject on kos.decisions (subject);
create index decisions_other on kos.decisions (other) where other is not null;
create index decisions_ends on kos.decisions (op) where op in ('forget', 'erase');

-- How far each ledger file has been read.
create table kos.ledger_files (
    machine text not null,
    month text not null,
    size_bytes bigint not null,
    mtime_ns bigint not null,
    read_to bigint not null,
    primary key (machine, month)
);

-- The files of statements (V9): accepted with their record, pending until the embedder answers, or refused.
create table kos.memory_files (
    path text primary key collate "C",
    memory_id uuid,
    namespace text not null collate "C",
    size_bytes bigint not null,
    mtime_ns bigint not null,
    digests jsonb not null default '{}',
    state text not null check (state in ('accepted', 'pending', 'refused')),
    code text,
    first_seen_at timestamptz not null default now()
);
create index memory_files_memory on kos.memory_files (memory_id);

-- What waits for a person: stale rows, contradictions. An item that was closed may be opened again by a new cause.
create table kos.review_items (
    item_id bigint generated always as identity primary key,
    kind text not null check (kind in ('stale', 'contradiction')),
    namespace text not null collate "C",
    memory_id uuid not null,
    other_id uuid,
    code text not null,
    opened_at timestamptz not null default now(),
    closed_at timestamptz,
    outcome text,
    check ((closed_at is null) = (outcome is null))
);
create unique index review_items_open on kos.review_items (kind, memory_id, other_id) nulls not distinct where closed_at is null;
create index review_items_list on kos.review_items (namespace, opened_at) where closed_at is null;
create index review_items_other on kos.review_items (other_id) where other_id is not null;

do $$
declare
    t text;
begin
    foreach t in array array['decisions', 'memory_files', 'review_items'] loop
        execute format('alter table kos.%I enable row level security', t);
        execute format('create policy writer on kos.%I to kos_writer using (kos.in_pipeline() or namespace = any(kos.allowed_namespaces())) with check (kos.in_pipeline() or namespace = any(kos.allowed_namespaces()))', t);
        execute format('create policy auditor on kos.%I for select to kos_auditor using (namespace = any(kos.allowed_namespaces()))', t);
    end loop;
end $$;
grant select, insert, update (settled) on kos.decisions to kos_writer;
grant select, insert, update, delete on kos.ledger_files, kos.memory_files, kos.review_items to kos_writer;

-- An edge is written and read with the memories that it joins (S12); the auditor sees those of rows that it may read.
drop policy writer on kos.edges;
create policy writer on kos.edges to kos_writer
using (kos.in_pipeline() or exists (select 1 from kos.memories as m where m.memory_id = src_id))
with check (kos.in_pipeline() or exists (select 1 from kos.memories as m where m.memory_id = src_id));
create policy auditor on kos.edges for select to kos_auditor using (
    exists (select 1 from kos.memories as m where m.memory_id = src_id)
    and exists (select 1 from kos.memories as m where m.memory_id = dst_id)
);
grant select on kos.edges, kos.review_items, kos.memory_files, kos.decisions to kos_auditor;
grant execute on function kos.used_namespaces() to kos_auditor;

-- Live memories of a namespace whose vector lies nearer than a distance, nearest first: exact, never through an index
-- that a filter can empty (G3).
create function kos.near_memories(p_namespace text, p_query halfvec, p_distance double precision, p_limit integer)
returns table (memory_id uuid, distance double precision)
language sql stable security definer set search_path = kos, public, pg_temp as $$
    select f.memory_id, f.distance
    from (
        select e.memory_id, e.embedding <=> p_query as distance
        from kos.embeddings as e
        inner join kos.embedding_models as m on e.model_key = m.model_key and m.state = 'active'
        where
            e.namespace = p_namespace and e.live and e.ordinal = -1 and (e.expires_at is null or e.expires_at > now())
            and (kos.in_pipeline() or p_namespace = any(kos.allowed_namespaces()))
    ) as f
    where f.distance < p_distance
    order by f.distance, f.memory_id limit p_limit
$$;
drop function kos.nearest_memory(text, halfvec);
revoke all on function kos.near_memories(text, halfvec, double precision, integer) from public;
grant execute on function kos.near_memories(text, halfvec, double precision, integer) to kos_writer;

set local role kos_view;

create or replace view kos.live_memories as
select
    m.memory_id, m.namespace, m.memory_type, m.type_reason, m.type_confidence, m.heading, m.content, m.summary,
    m.provenance, m.confidence, m.importance, m.supersedes, m.note_id, m.note_path, m.author, m.home, m.home_path, m.lang,
    m.event_at, m.event_zone, m.event_rule, m.created_at, m.updated_at, m.verified_at, m.verified_by, m.expires_at,
    m.keywords, m.content_hash,
    (select i.indexed_hash from kos.index_state as i where i.memory_id = m.memory_id) as indexed_hash,
    (
        select e.embedding from kos.embeddings as e
        where
            e.memory_id = m.memory_id and e.ordinal = -1
            and e.model_key = (select a.model_key from kos.embedding_models as a where a.state = 'active')
    ) as embedding,
    m.verified_how
from kos.memories as m;

create or replace view kos.active_model as
select m.model_key, m.model_id, m.dimensions, m.recipe, m.gate_distance from kos.embedding_models as m where m.state = 'active';
