-- The canonical store: tables. Runs as an administrator that is a member of kos_owner
-- and kos_view; roles and extensions exist already (store/roles.sql).

set local role kos_owner;

-- Namespaces that this transaction may see: the comma-separated setting kos.namespaces; unset means none (S6).
create function kos.allowed_namespaces() returns text[] -- noqa: PRS
language sql stable parallel safe
return string_to_array(nullif(current_setting('kos.namespaces', true), ''), ',');

-- True inside a transaction of the pipeline (kos.enter_pipeline, role kos_writer only), which sees every namespace.
create function kos.in_pipeline() returns boolean
language sql stable parallel safe
return coalesce(current_setting('kos.scope', true) = 'pipeline', false);


-- Every namespace in use, by a loose scan of the index.
create function kos.used_namespaces() returns text[]
language plpgsql stable security definer set search_path = kos, pg_temp as $$
declare
    v_found text[] := '{}';
    v_next text;
begin
    loop
        select min(m.namespace) into v_next from kos.memories as m where m.deleted_at is null and m.namespace > coalesce(v_found[cardinality(v_found)], '');
        exit when v_next is null;
        v_found := v_found || v_next;
    end loop;
    return v_found;
end $$;

-- The pipeline's transaction: tables under the policy `writer`, live views over every namespace in use. Granted to
-- kos_writer only.
create function kos.enter_pipeline() returns void
language plpgsql as $$
begin
    perform set_config('kos.scope', 'pipeline', true);
    perform set_config('kos.namespaces', array_to_string(kos.used_namespaces(), ','), true);
end $$;

create table kos.installation (
    only_row boolean primary key default true check (only_row),
    vault_id uuid,
    vault_root text,
    links_hash text,
    notes_recipe text,
    created_at timestamptz not null default now()
);

create table kos.notes (
    note_id uuid primary key,
    source text not null,
    path text not null collate "C",
    title text not null,
    title_rule text not null,
    content text not null,
    namespace text not null collate "C",
    memory_type text,
    type_reason text not null,
    type_confidence real not null,
    provenance text not null,
    confidence real not null,
    author text,
    home_path text not null collate "C",
    lang text not null,
    event_at timestamptz,
    event_zone text,
    event_rule text not null,
    source_updated_at timestamptz,
    verified_at timestamptz,
    expires_at timestamptz,
    properties jsonb not null,
    structure jsonb not null,
    size_bytes bigint not null,
    mtime_ns bigint not null,
    file_hash text not null,
    content_hash text not null,
    body_hash text collate "C",
    stamped boolean not null,
    row_hash text not null,
    synced_hash text,
    first_seen_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    deleted_at timestamptz,
    -- Two files may swap names in one scan: checked at commit.
    constraint notes_path exclude using btree (source with =, path with =) where (deleted_at is null)
    deferrable initially deferred
);
create index notes_unsynced on kos.notes (note_id) where synced_hash is distinct from row_hash;
create index notes_body on kos.notes (namespace, body_hash) where deleted_at is null and body_hash is not null;

create table kos.note_links (
    note_id uuid not null references kos.notes on delete cascade,
    ordinal integer not null,
    kind text not null check (kind in ('links_to', 'embeds')),
    target text not null,
    anchor text,
    line integer not null,
    primary key (note_id, ordinal)
);

create table kos.quarantine (
    path text not null collate "C",
    code text not null,
    line integer not null default 0,
    severity text not null check (severity in ('blocked', 'problem')),
    namespace text not null collate "C",
    reason text not null,
    fix text not null,
    first_seen_at timestamptz not null default now(),
    last_seen_at timestamptz not null default now(),
    primary key (path, code, line)
);

create table kos.memories (
    memory_id uuid primary key,
    namespace text not null collate "C" check (namespace ~ '^(global|(agent|shared):[A-Za-z0-9._-]+)$'),
    memory_type text not null check (memory_type in ('episodic', 'semantic', 'procedural', 'working')),
    type_reason text not null default 'explicit',
    type_confidence real not null default 1 check (type_confidence between 0 and 1),
    heading text not null,
    content text not null,
    summary text,
    provenance text not null check (provenance in ('raw', 'derived', 'output')),
    confidence real not null check (confidence between 0 and 1),
    importance real not null default 1 check (importance > 0),
    supersedes uuid references kos.memories (memory_id),
    folded_into uuid references kos.memories (memory_id) deferrable initially deferred,
    note_id uuid references kos.notes (note_id),
    note_path text collate "C",
    author text,
    home ltree not null,
    home_path text not null collate "C",
    lang text not null default 'und',
    event_at timestamptz,
    event_zone text,
    event_rule text not null default 'none',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    verified_at timestamptz,
    verified_by text,
    expires_at timestamptz,
    deleted_at timestamptz,
    deleted_reason text,
    keywords text[] not null default '{}',
    content_hash text not null,
    fold_hash text collate "C",
    idempotency_key text unique,
    constraint working_memory_expires check (memory_type <> 'working' or expires_at is not null),
    constraint deletion_has_reason check ((deleted_at is null) = (deleted_reason is null))
);
create index memories_namespace on kos.memories (namespace, event_at) where deleted_at is null;
create index memories_home on kos.memories (home_path) where deleted_at is null;
create index memories_home_tree on kos.memories using gist (home) where deleted_at is null;
create index memories_note on kos.memories (note_id);
create index memories_supersedes on kos.memories (supersedes) where supersedes is not null;
create index memories_folded on kos.memories (folded_into) where folded_into is not null;
create index memories_expiring on kos.memories (expires_at) where deleted_at is null and expires_at is not null;
create index memories_fold on kos.memories (namespace, fold_hash) where note_id is not null;

create table kos.memory_history (
    history_id bigint generated always as identity primary key,
    memory_id uuid not null references kos.memories (memory_id),
    namespace text not null collate "C",
    at timestamptz not null default now(),
    principal text not null,
    action text not null check (action in ('insert', 'update', 'supersede', 'fold', 'retire', 'restore', 'expire')),
    reason text not null,
    before jsonb,
    after jsonb
);
create index memory_history_memory on kos.memory_history (memory_id, history_id);

-- How far the index has followed a memory: content_hash that its chunks and postings were made from, hash of the text
-- that its own vector is made from, and whether its similar_to edges are up to date.
create table kos.index_state (
    memory_id uuid primary key references kos.memories (memory_id) on delete cascade,
    indexed_hash text not null,
    recipe integer not null,
    embed_hash text not null,
    linked boolean not null default false
);
create index index_state_unlinked on kos.index_state (memory_id) where not linked;

-- embed_hash is null where the memory has this one chunk only: the memory's vector stands for it.
create table kos.chunks (
    chunk_id bigint generated always as identity primary key,
    memory_id uuid not null references kos.memories (memory_id) on delete cascade,
    ordinal integer not null check (ordinal >= 0),
    namespace text not null collate "C",
    live boolean not null,
    expires_at timestamptz,
    heading_path text[] not null,
    body text not null,
    start_line integer not null,
    end_line integer not null,
    embed_hash text,
    lang text not null,
    length integer not null check (length >= 0),
    unique (memory_id, ordinal)
);

-- One row per term of a chunk. impact = saturated term frequency at a reference length of 100 tokens: lists read in
-- that order give an exact bound for any average length (kos.lexical_arm).
create table kos.postings (
    chunk_id bigint not null references kos.chunks (chunk_id) on delete cascade,
    expires_at timestamptz,
    impact real not null,
    length integer not null,
    frequency smallint not null,
    live boolean not null,
    namespace text not null collate "C",
    term text not null collate "C",
    primary key (chunk_id, term)
);
create index postings_impact on kos.postings (term, namespace, impact desc) include (chunk_id, length, frequency, expires_at) where live;

-- Document frequencies and corpus totals as appended deltas: a reader sums them, a job folds them (lexical.sql).
create table kos.lexical_terms (
    term text not null collate "C",
    namespace text not null collate "C",
    documents integer not null
);
create index lexical_terms_term on kos.lexical_terms (term, namespace) include (documents);
create table kos.lexical_totals (
    namespace text not null collate "C",
    lang text not null,
    documents integer not null,
    tokens bigint not null
);
create index lexical_totals_namespace on kos.lexical_totals (namespace);

create table kos.embedding_models (
    model_key smallint generated always as identity primary key,
    model_id text not null unique,
    dimensions integer not null check (dimensions between 1 and 4000),
    recipe jsonb not null,
    state text not null check (state in ('building', 'active', 'retired')),
    created_at timestamptz not null default now(),
    activated_at timestamptz
);
create unique index embedding_models_one_active on kos.embedding_models (state) where state = 'active';

-- ordinal = -1 is the whole memory (heading + content), else the chunk's ordinal. One partition per model (S9).
create table kos.embeddings (
    model_key smallint not null references kos.embedding_models (model_key),
    memory_id uuid not null references kos.memories (memory_id) on delete cascade,
    ordinal integer not null check (ordinal >= -1),
    namespace text not null collate "C",
    live boolean not null,
    expires_at timestamptz,
    content_hash text not null,
    created_at timestamptz not null default now(),
    embedding halfvec not null,
    primary key (model_key, memory_id, ordinal)
) partition by list (model_key);
create index embeddings_hash on kos.embeddings (content_hash);
create index embeddings_namespace on kos.embeddings (namespace) where live;

create table kos.edges (
    src_id uuid not null references kos.memories (memory_id) on delete cascade,
    kind text not null,
    dst_id uuid not null references kos.memories (memory_id) on delete cascade,
    weight real not null default 1,
    provenance text not null default 'raw' check (provenance in ('raw', 'derived', 'output')),
    detail jsonb not null default '{}',
    created_at timestamptz not null default now(),
    primary key (src_id, kind, dst_id)
);
create index edges_dst on kos.edges (dst_id, kind);

create table kos.traces (
    trace_id uuid primary key,
    at timestamptz not null,
    principal text not null,
    session text,
    namespaces text[] not null,
    kind text not null,
    query text not null,
    filters jsonb not null,
    model_id text,
    confidence text not null,
    results jsonb not null,
    latency_ms real not null
);
create index traces_session on kos.traces (session, at desc);
create index traces_at on kos.traces (at);
create table kos.trace_reads (
    trace_id uuid not null references kos.traces (trace_id) on delete cascade,
    memory_id uuid not null,
    at timestamptz not null,
    primary key (trace_id, memory_id)
);

create table kos.lanes (
    provider text primary key,
    state text not null check (state in ('open', 'paused')),
    paused_until timestamptz,
    reason text,
    failures integer not null default 0,
    updated_at timestamptz not null default now()
);

create table kos.calibrations (
    calibration_id bigint generated always as identity primary key,
    at timestamptz not null default now(),
    model_id text not null,
    rule text not null check (rule in ('cosine', 'evidence')),
    weak real not null,
    strong real not null,
    corpus_memories integer not null,
    inputs_hash text not null,
    report jsonb not null
);

create table kos.health_snapshots (
    at timestamptz not null,
    metric text not null,
    value double precision not null,
    detail jsonb not null default '{}',
    primary key (at, metric)
);
