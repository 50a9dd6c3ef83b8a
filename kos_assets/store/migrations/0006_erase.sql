-- Hard erasure (S11): the one way in which a memory's row leaves the store. Functions of the owner, because nobody else
-- may delete memories and their history; they refuse what the caller's transaction may not see.

set local role kos_owner;

-- What an erasure takes with it: the given memories, and those with exactly the same text in the same namespace (equal
-- bodies of notes, equal statements). `earlier` are older texts that history keeps; `relatives` the other versions of a
-- supersede chain, which are named and not erased.
create function kos.erasable(p_memories uuid[])
returns table (
    memory_id uuid, namespace text, note_id uuid, fold_hash text, heading text, content text, earlier text[], path text,
    file_hash text, is_asked boolean, relatives uuid[]
)
language sql stable security definer set search_path = kos, public, pg_temp as $$
    with recursive asked as (
        select m.memory_id, m.namespace, m.note_id, m.fold_hash, m.content_hash from kos.memories as m
        where m.memory_id = any(p_memories) and (kos.in_pipeline() or m.namespace = any(kos.allowed_namespaces()))
    ), wanted as (
        select a.memory_id from asked as a
        union
        select m.memory_id from asked as a
        inner join kos.memories as m
            on a.namespace = m.namespace and (
                (a.note_id is not null and m.note_id is not null and a.fold_hash = m.fold_hash)
                or (a.note_id is null and m.note_id is null and a.content_hash = m.content_hash)
            )
    ), chain as (
        select w.memory_id as start, w.memory_id from wanted as w
        union
        select c.start, o.id from chain as c
        inner join kos.memories as m on c.memory_id = m.memory_id or c.memory_id = m.supersedes
        cross join lateral (values (m.memory_id), (m.supersedes)) as o (id)
        where o.id is not null
    )
    select
        m.memory_id, m.namespace, m.note_id, m.fold_hash, m.heading, m.content,
        array(
            select distinct o.text from kos.memory_history as h
            cross join lateral (
                values (h.before ->> 'content'), (h.after ->> 'content'), (h.before ->> 'heading'), (h.after ->> 'heading')
            ) as o (text)
            where h.memory_id = m.memory_id and o.text is not null limit 40
        ),
        coalesce(n.path, f.path, m.note_path), n.file_hash, m.memory_id = any(p_memories),
        array(
            select distinct c.memory_id from chain as c
            inner join kos.memories as o on c.memory_id = o.memory_id
            where c.start = m.memory_id and c.memory_id not in (select w.memory_id from wanted as w)
        )
    from wanted as w
    inner join kos.memories as m on w.memory_id = m.memory_id
    left join kos.notes as n on m.note_id = n.note_id
    left join lateral (
        select o.path from kos.memory_files as o where o.memory_id = m.memory_id order by o.path limit 1
    ) as f on true
    order by m.memory_id
$$;

-- Whether a text holds one of the runs, folded as domain/needles.py does it (`p_dropped`).
create function kos.holds_run(p_text text, p_runs text[], p_dropped text) returns boolean
language sql immutable set search_path = kos, public, pg_temp as $$
    select exists(
        select 1 from (select regexp_replace(lower(p_text collate "C"), p_dropped, '', 'g') as folded offset 0) as f
        cross join unnest(p_runs) as r (run)
        where strpos(f.folded, r.run) > 0
    )
$$;

-- Everything of these memories goes: rows, history, words, vectors of every model, edges, review items, files' index, notes
-- with links and quarantine; their part in traces, and what else quotes one of the runs. Lexical statistics follow by
-- their triggers; words that nothing uses any more leave too. Returns counts by table, and those words. Safe twice.
create function kos.erase_memories(
    p_memories uuid[], p_runs text[], p_dropped text, p_principal text, p_at timestamptz
) returns jsonb
language plpgsql security definer set search_path = kos, public, pg_temp as $$
declare
    v_allowed constant text[] := coalesce(kos.allowed_namespaces(), '{}');
    v_texts constant text[] := p_memories::text[];
    v_notes uuid[];
    v_paths text[];
    v_terms text[];
    v_gone text[];
    v_count bigint;
    v_counts jsonb := '{}';
begin
    perform 1 from kos.memories as m where m.memory_id = any(p_memories) order by m.memory_id for update;
    if not kos.in_pipeline() and exists(
        select 1 from kos.memories as m where m.memory_id = any(p_memories) and m.namespace <> all(v_allowed)
        union all
        select 1 from kos.memory_files as f where f.memory_id = any(p_memories) and f.namespace <> all(v_allowed)
    ) then
        raise exception 'a memory lies outside the namespaces of this transaction' using errcode = 'insufficient_privilege';
    end if;
    select coalesce(array_agg(distinct n.note_id), '{}') into v_notes
    from kos.memories as m
    inner join kos.notes as n
        on m.note_id = n.note_id or (m.note_id is not null and m.namespace = n.namespace and m.fold_hash = n.body_hash)
    where m.memory_id = any(p_memories);
    select coalesce(array_agg(distinct o.path), '{}') into v_paths from (
        select n.path from kos.notes as n where n.note_id = any(v_notes)
        union all select m.note_path from kos.memories as m where m.memory_id = any(p_memories)
        union all select f.path from kos.memory_files as f where f.memory_id = any(p_memories)
    ) as o where o.path is not null;
    select coalesce(array_agg(distinct p.term), '{}') into v_terms
    from kos.postings as p inner join kos.chunks as c on p.chunk_id = c.chunk_id where c.memory_id = any(p_memories);

    delete from kos.postings as p using kos.chunks as c where p.chunk_id = c.chunk_id and c.memory_id = any(p_memories);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('postings', v_count);
    delete from kos.chunks as c where c.memory_id = any(p_memories);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('chunks', v_count);
    delete from kos.embeddings as e where e.memory_id = any(p_memories);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('embeddings', v_count);
    delete from kos.index_state as i where i.memory_id = any(p_memories);
    delete from kos.edges as e where e.src_id = any(p_memories) or e.dst_id = any(p_memories);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('edges', v_count);
    delete from kos.review_items as r where r.memory_id = any(p_memories) or r.other_id = any(p_memories);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('review_items', v_count);
    delete from kos.memory_files as f where f.memory_id = any(p_memories);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('memory_files', v_count);
    delete from kos.memory_history as h where h.memory_id = any(p_memories);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('memory_history', v_count);

    with pointing as (
        update kos.memories as m set
            supersedes = case when m.supersedes = any(p_memories) then null else m.supersedes end,
            folded_into = case when m.folded_into = any(p_memories) then null else m.folded_into end,
            updated_at = now()
        where
            (m.supersedes = any(p_memories) or m.folded_into = any(p_memories)) and m.memory_id <> all(p_memories)
        returning m.memory_id, m.namespace
    ), told as (
        insert into kos.memory_history (memory_id, namespace, at, principal, action, reason)
        select p.memory_id, p.namespace, p_at, p_principal, 'update', 'a version that it pointed to was erased'
        from pointing as p returning 1
    )
    select count(*) into v_count from told;
    v_counts := v_counts || jsonb_build_object('pointers', v_count);
    delete from kos.memories as m where m.memory_id = any(p_memories);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('memories', v_count);
    delete from kos.notes as n
    where n.note_id = any(v_notes) and not exists(select 1 from kos.memories as m where m.note_id = n.note_id);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('notes', v_count);
    delete from kos.quarantine as q
    where q.path = any(v_paths) and not exists(select 1 from kos.notes as n where n.path = q.path and n.deleted_at is null);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('quarantine', v_count);

    update kos.traces as t set
        query = '[erased]',
        filters = case when kos.holds_run(t.filters::text, p_runs, p_dropped) then '{}' else t.filters end,
        results = coalesce((
            select jsonb_agg(r.item order by r.place)
            from jsonb_array_elements(t.results) with ordinality as r (item, place)
            where
                coalesce(r.item ->> 'memory_id', '') <> all(v_texts) and not kos.holds_run(r.item::text, p_runs, p_dropped)
        ), '[]')
    where
        exists(select 1 from jsonb_array_elements(t.results) as r (item) where r.item ->> 'memory_id' = any(v_texts))
        or t.trace_id in (select r.trace_id from kos.trace_reads as r where r.memory_id = any(p_memories))
        or kos.holds_run(concat_ws(E'\n', t.query, t.filters::text, t.results::text), p_runs, p_dropped);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('traces', v_count);
    delete from kos.trace_reads as r where r.memory_id = any(p_memories);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('trace_reads', v_count);
    update kos.calibrations as c set report = '{"erased": true}' where kos.holds_run(c.report::text, p_runs, p_dropped);
    get diagnostics v_count = row_count;
    v_counts := v_counts || jsonb_build_object('calibrations', v_count);
    update kos.lanes as l set reason = '[erased]' where kos.holds_run(l.reason, p_runs, p_dropped);
    update kos.health_snapshots as s set detail = '{}' where kos.holds_run(s.detail::text, p_runs, p_dropped);

    delete from kos.lexical_terms as l
    where
        l.term = any(v_terms)
        and (l.term, l.namespace) in (
            select d.term, d.namespace from kos.lexical_terms as d
            where d.term = any(v_terms) group by d.term, d.namespace having sum(d.documents) = 0
        );
    select coalesce(array_agg(t.term), '{}') into v_gone from unnest(v_terms) as t (term)
    where not exists(select 1 from kos.postings as p where p.term = t.term);
    return jsonb_build_object('counts', v_counts, 'terms', to_jsonb(v_gone));
end $$;

revoke all on function
kos.erasable(uuid[]), kos.holds_run(text, text[], text),
kos.erase_memories(uuid[], text[], text, text, timestamptz)
from public;
grant execute on function
kos.erasable(uuid[]), kos.erase_memories(uuid[], text[], text, text, timestamptz)
to kos_writer;
