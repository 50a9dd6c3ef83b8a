-- What follows from a memory's change (flags of derived rows, lexical statistics), row-level security, the rights of
-- each role, and the live views.

set local role kos_owner;

-- Retiring, restoring, moving between namespaces or re-dating a memory follows into its derived rows in the same
-- transaction, so that the live views can test the derived row alone and keep their index.
create function kos.follow_memory() returns trigger language plpgsql as $$
begin
    update kos.chunks set namespace = new.namespace, live = new.deleted_at is null, expires_at = new.expires_at
    where memory_id = new.memory_id;
    update kos.embeddings set namespace = new.namespace, live = new.deleted_at is null, expires_at = new.expires_at
    where memory_id = new.memory_id;
    update kos.postings set namespace = new.namespace, live = new.deleted_at is null, expires_at = new.expires_at
    where chunk_id in (select c.chunk_id from kos.chunks as c where c.memory_id = new.memory_id);
    update kos.index_state set linked = false where memory_id = new.memory_id;
    return null;
end $$;
create trigger memories_follow after update on kos.memories for each row
when (
    old.namespace is distinct from new.namespace
    or (old.deleted_at is null) is distinct from (new.deleted_at is null)
    or old.expires_at is distinct from new.expires_at
) execute function kos.follow_memory();

-- Statistics count live documents that never expire: a row that expires at midnight must not need a writer at midnight.
create function kos.count_postings() returns trigger language plpgsql as $$
begin
    if tg_op in ('UPDATE', 'DELETE') then
        insert into kos.lexical_terms (term, namespace, documents)
        select p.term, p.namespace, -count(*) from gone as p
        where p.live and p.expires_at is null group by p.term, p.namespace;
    end if;
    if tg_op in ('UPDATE', 'INSERT') then
        insert into kos.lexical_terms (term, namespace, documents)
        select p.term, p.namespace, count(*) from come as p
        where p.live and p.expires_at is null group by p.term, p.namespace;
    end if;
    return null;
end $$;
create function kos.count_chunks() returns trigger language plpgsql as $$
begin
    if tg_op in ('UPDATE', 'DELETE') then
        insert into kos.lexical_totals (namespace, lang, documents, tokens)
        select c.namespace, c.lang, -count(*), -sum(c.length) from gone as c
        where c.live and c.expires_at is null group by c.namespace, c.lang;
    end if;
    if tg_op in ('UPDATE', 'INSERT') then
        insert into kos.lexical_totals (namespace, lang, documents, tokens)
        select c.namespace, c.lang, count(*), sum(c.length) from come as c
        where c.live and c.expires_at is null group by c.namespace, c.lang;
    end if;
    return null;
end $$;
create trigger chunks_counted_insert after insert on kos.chunks
referencing new table as come for each statement execute function kos.count_chunks();
create trigger chunks_counted_update after update on kos.chunks
referencing old table as gone new table as come for each statement execute function kos.count_chunks();
create trigger chunks_counted_delete after delete on kos.chunks
referencing old table as gone for each statement execute function kos.count_chunks();
create trigger postings_counted_insert after insert on kos.postings
referencing new table as come for each statement execute function kos.count_postings();
create trigger postings_counted_update after update on kos.postings
referencing old table as gone new table as come for each statement execute function kos.count_postings();
create trigger postings_counted_delete after delete on kos.postings
referencing old table as gone for each statement execute function kos.count_postings();

-- Row-level security (S5, S6). kos_view: live and in an allowed namespace. kos_writer: an allowed namespace, or the
-- pipeline. kos_auditor: an allowed namespace, retired rows included. kos_dbt reads facts through views of its own.
do $$
declare
    t text;
begin
    foreach t in array array['notes', 'quarantine', 'memories', 'memory_history', 'chunks', 'postings', 'embeddings', 'lexical_terms', 'lexical_totals'] loop
        execute format('alter table kos.%I enable row level security', t);
        execute format('create policy writer on kos.%I to kos_writer using (kos.in_pipeline() or namespace = any(kos.allowed_namespaces())) with check (kos.in_pipeline() or namespace = any(kos.allowed_namespaces()))', t);
        execute format('create policy auditor on kos.%I for select to kos_auditor using (namespace = any(kos.allowed_namespaces()))', t);
    end loop;
    foreach t in array array['memories', 'chunks', 'postings', 'embeddings', 'lexical_terms', 'lexical_totals'] loop
        execute format('create policy view on kos.%I for select to kos_view using (true)', t);
        execute format('create policy view_namespace on kos.%I as restrictive for select to kos_view using (namespace = any(kos.allowed_namespaces()))', t);
    end loop;
    foreach t in array array['chunks', 'postings', 'embeddings'] loop
        execute format('create policy view_live on kos.%I as restrictive for select to kos_view using (live and (expires_at is null or expires_at > now()))', t);
    end loop;
    execute 'create policy view_live on kos.memories as restrictive for select to kos_view using (deleted_at is null and (expires_at is null or expires_at > now()))';
    foreach t in array array['traces', 'edges', 'trace_reads', 'note_links'] loop
        execute format('alter table kos.%I enable row level security', t);
    end loop;
end $$;
create policy view on kos.edges for select to kos_view using (true);
create policy writer on kos.edges to kos_writer using (true) with check (true);
create policy writer on kos.note_links to kos_writer using (kos.in_pipeline()) with check (kos.in_pipeline());
create policy writer on kos.traces to kos_writer using (kos.in_pipeline()) with check (kos.in_pipeline());
create policy writer on kos.trace_reads to kos_writer using (kos.in_pipeline()) with check (kos.in_pipeline());
create policy auditor on kos.traces for select to kos_auditor using (namespaces <@ kos.allowed_namespaces());

grant select on
kos.memories, kos.chunks, kos.postings, kos.embeddings, kos.edges, kos.index_state, kos.lexical_terms,
kos.lexical_totals, kos.embedding_models
to kos_view;
grant select, insert, update, delete on
kos.notes, kos.note_links, kos.quarantine, kos.chunks, kos.postings, kos.embeddings, kos.edges, kos.index_state,
kos.lexical_terms, kos.lexical_totals, kos.lanes, kos.traces, kos.trace_reads, kos.health_snapshots
to kos_writer;
grant select, insert, update on kos.memories, kos.installation, kos.calibrations, kos.embedding_models to kos_writer;
grant select, insert on kos.memory_history to kos_writer;
grant select on kos.memories, kos.memory_history, kos.traces, kos.quarantine to kos_auditor;

set local role kos_view;

create view kos.live_memories as
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
    ) as embedding
from kos.memories as m;

create view kos.live_chunks as
select c.chunk_id, c.memory_id, c.ordinal, c.namespace, c.heading_path, c.body, c.start_line, c.end_line, c.embed_hash
from kos.chunks as c;

create view kos.live_embeddings as
select e.model_key, e.memory_id, e.ordinal, e.namespace, e.content_hash, e.embedding
from kos.embeddings as e;

create view kos.live_postings as
select p.chunk_id, p.term, p.namespace, p.frequency, p.length, p.impact
from kos.postings as p;

create view kos.live_edges as
select e.src_id, e.kind, e.dst_id, e.weight, e.provenance, e.detail
from kos.edges as e
inner join kos.memories as s on e.src_id = s.memory_id
inner join kos.memories as d on e.dst_id = d.memory_id;

grant select on kos.live_memories, kos.live_chunks, kos.live_embeddings, kos.live_postings, kos.live_edges to kos_reader, kos_writer;
