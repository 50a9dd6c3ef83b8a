-- A namespace is in use as long as it holds anything: a retired memory (what the owner audits, S7) or a file that waits
-- (V9), although nothing in it is live.

set local role kos_owner;

create index memory_files_held on kos.memory_files (namespace, first_seen_at) where state <> 'accepted';

-- A folder below memories/ may have any name; one with a comma cannot be set on a transaction and is left to quarantine.
create or replace function kos.used_namespaces() returns text[]
language plpgsql stable security definer set search_path = kos, pg_temp as $$
declare
    v_found text[] := '{}';
    v_last text := '';
begin
    loop
        select least(
            (select min(m.namespace) from kos.memories as m where m.deleted_at is null and m.namespace > v_last),
            (select min(m.namespace) from kos.memories as m where m.deleted_at is not null and m.namespace > v_last),
            (
                select min(f.namespace) from kos.memory_files as f
                where f.state <> 'accepted' and f.namespace > v_last and position(',' in f.namespace) = 0
            )
        ) into v_last;
        exit when v_last is null;
        v_found := v_found || v_last;
    end loop;
    return v_found;
end $$;
