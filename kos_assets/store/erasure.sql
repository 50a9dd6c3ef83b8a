-- Hard erasure and its proof. "{name}" stands for an identifier or an expression over columns, which store/erasure.py
-- composes and quotes.

-- name: erasable
select
    e.memory_id, e.namespace, e.note_id, e.fold_hash, e.heading, e.content, e.earlier, e.path, e.file_hash, e.is_asked,
    e.relatives
from kos.erasable(%(memory_ids)s::uuid[]) as e;

-- name: erase
select kos.erase_memories(
    %(memory_ids)s::uuid[], %(runs)s::text[], %(dropped)s::text, %(principal)s, %(at)s::timestamptz
) as done;

-- name: places
select
    c.oid::bigint as table_id, n.nspname as schema_name, c.relname as table_name, c.relkind = 'm' as is_materialised,
    coalesce(array_agg(a.attname::text order by a.attnum) filter (where k.kind = 'text'), array[]::text[]) as texts,
    coalesce(array_agg(a.attname::text order by a.attnum) filter (where k.kind = 'id'), array[]::text[]) as ids,
    coalesce(array_agg(a.attname::text order by a.attnum) filter (where k.kind = 'ids'), array[]::text[]) as id_lists,
    coalesce(array_agg(a.attname::text order by a.attnum) filter (where k.kind = 'opaque'), array[]::text[]) as opaque
from pg_class as c
inner join pg_namespace as n on c.relnamespace = n.oid
inner join pg_attribute as a on c.oid = a.attrelid and a.attnum > 0 and not a.attisdropped
inner join pg_type as t on a.atttypid = t.oid
inner join pg_type as b on case when t.typtype = 'd' then t.typbasetype else t.oid end = b.oid
left join pg_type as i on b.typelem = i.oid and b.typcategory = 'A'
cross join lateral (
    select
        case
            when b.typname = 'uuid' then 'id'
            when i.typname = 'uuid' then 'ids'
            when coalesce(i.typname, b.typname) = 'bytea' then 'opaque'
            when coalesce(i.typname, b.typname) in ('vector', 'halfvec', 'sparsevec', 'pg_lsn', 'xid8', 'txid_snapshot') then 'other'
            when coalesce(i.typcategory, b.typcategory) in ('S', 'U', 'E', 'C', 'X') then 'text'
            else 'other'
        end as kind
) as k
where
    c.relkind in ('r', 'm')
    and (
        n.nspname = any(%(schemas)s::text[])
        or (%(others)s and n.nspname <> all(%(schemas)s::text[]) and n.nspname !~ '^(pg_|information_schema$)')
    )
group by c.oid, n.nspname, c.relname, c.relkind
order by n.nspname, c.relname;

-- name: references
select
    f.conrelid::bigint as table_id, a.attname::text as column_name, n.nspname as to_schema, c.relname as to_table,
    o.attname::text as to_column, 'memory_id' = any(
        select m.attname from pg_attribute as m where m.attrelid = c.oid and m.attnum > 0 and not m.attisdropped
    ) as leads_to_memory
from pg_constraint as f
inner join pg_class as c on f.confrelid = c.oid
inner join pg_namespace as n on c.relnamespace = n.oid
inner join pg_attribute as a on f.conrelid = a.attrelid and a.attnum = f.conkey[1]
inner join pg_attribute as o on f.confrelid = o.attrelid and o.attnum = f.confkey[1]
where f.contype = 'f' and cardinality(f.conkey) = 1;

-- name: search
select
    count(*) as searched,
    count(*) filter (where s.holds and not s.is_other) as hits,
    count(*) filter (where s.holds and s.is_other) as elsewhere,
    count(*) filter (where s.keyed) as keyed,
    count(*) filter (where s.named) as named,
    (array_agg(distinct s.owner) filter (where s.holds and s.is_other))[1:5]::text[] as owners
from (
    select
        o.owner, coalesce(o.owner <> all(%(ids)s::uuid[]), false) as is_other, coalesce("{keyed}", false) as keyed, f.holds, f.named
    from "{place}" as t -- noqa: AL05
    cross join lateral (select "{owner}" as owner) as o
    cross join lateral (
        select
            coalesce(bool_or(exists (
                select 1 from unnest(%(runs)s::text[]) as r (run) where strpos(x.folded, r.run) > 0
            )), false) as holds,
            coalesce(bool_or(exists (
                select 1 from unnest(%(id_runs)s::text[]) as r (run) where strpos(x.folded, r.run) > 0
            )), false) as named
        from (
            select regexp_replace(lower(u.value collate "C"), %(dropped)s, '', 'g') as folded
            from unnest("{texts}") as u (value) where octet_length(u.value) >= %(least)s offset 0
        ) as x
    ) as f
) as s;

-- name: search_words
select count(*) as searched, count(*) filter (where t.term = any(%(terms)s::text[])) as hits from "{place}" as t;

-- name: search_statistics
select count(*) as searched, count(*) filter (where f.holds) as hits
from pg_stats as s
cross join lateral (
    select
        coalesce(bool_or(exists (
            select 1 from unnest(%(runs)s::text[]) as r (run) where strpos(x.folded, r.run) > 0
        )), false) as holds
    from (
        select regexp_replace(lower(u.value collate "C"), %(dropped)s, '', 'g') as folded
        from unnest(array[s.most_common_vals::text, s.histogram_bounds::text, s.most_common_elems::text]) as u (value)
        where octet_length(u.value) >= %(least)s offset 0
    ) as x
) as f
where
    s.schemaname = any(%(schemas)s::text[])
    or (%(others)s and s.schemaname <> all(%(schemas)s::text[]) and s.schemaname !~ '^(pg_|information_schema$)');

-- name: server_files
select count(*) as files, coalesce(sum(w.size), 0)::bigint as bytes from pg_ls_waldir() as w;

-- name: delete_rows
delete from "{place}" as t where "{keyed}";

-- name: refresh
refresh materialized view "{place}";

-- name: may_clear_statistics
select current_setting('is_superuser') = 'on' as present;

-- name: clear_statistics
delete from pg_catalog.pg_statistic where starelid = %(table_id)s::oid;

-- name: vacuum
vacuum (analyze, index_cleanup on, verbose) "{place}";

-- name: vacuum_statistics
vacuum pg_catalog.pg_statistic;

-- name: vector_indexes
select n.nspname as schema_name, c.relname as index_name, i.indisvalid as is_valid
from pg_index as i
inner join pg_class as c on i.indexrelid = c.oid
inner join pg_namespace as n on c.relnamespace = n.oid
inner join pg_am as a on c.relam = a.oid and a.amname = 'hnsw'
where n.nspname = 'kos' order by c.relname;

-- name: drop_index
drop index concurrently if exists "{place}";

-- name: reindex
reindex index concurrently "{place}";

-- name: owner_through
select o.memory_id from "{place}" as o where o."{key}" = t."{column}";
