-- The database's index of the vault's ledger, how far each file was read, and the files of statements.

-- name: insert
insert into kos.decisions (machine, month, seq, at, principal, op, subject, other, namespace, body, settled)
values (
    %(machine)s, %(month)s, %(seq)s, %(at)s, %(principal)s, %(op)s, %(subject)s, %(other)s, %(namespace)s, %(body)s, %(settled)s
)
on conflict (machine, month, seq) do nothing
returning subject;

-- name: unsettled
select d.machine, d.month, d.seq, d.at, d.principal, d.op, d.subject, d.body
from kos.decisions as d where not d.settled order by d.at, d.machine, d.month, d.seq limit %(most)s;

-- name: settle
update kos.decisions set settled = true
where machine = %(machine)s and month = %(month)s and seq = %(seq)s;

-- name: closure
with recursive touched as (
    select s.subject collate "C" from unnest(%(subjects)s::text[]) as s (subject)
    union
    select o.id
    from touched as t
    inner join kos.decisions as d on t.subject = d.subject or t.subject = d.other
    cross join lateral (values (d.subject), (d.other)) as o (id)
    where o.id is not null
)
select d.machine, d.month, d.seq, d.at, d.principal, d.op, d.subject, d.body
from kos.decisions as d
where
    d.subject = any(select t.subject from touched as t)
    or d.other = any(select t.subject from touched as t);

-- name: of_subjects
select d.machine, d.month, d.seq, d.at, d.principal, d.op, d.subject, d.body
from kos.decisions as d where d.subject = any(%(subjects)s::text[]) or d.other = any(%(subjects)s::text[]);

-- name: joining
select d.machine, d.month, d.seq, d.at, d.principal, d.op, d.subject, d.body
from kos.decisions as d
where
    d.op in ('write', 'adopt')
    and (
        d.other = any(%(subjects)s::text[])
        or (d.body ? 'edges' and d.body @> any(%(patterns)s::jsonb[]))
    );

-- name: written_order
select d.subject, max(d.at) as at from kos.decisions as d where d.op in ('write', 'adopt') group by d.subject;

-- name: ends
select d.machine, d.month, d.seq, d.at, d.principal, d.op, d.subject, d.body
from kos.decisions as d
where
    d.op in ('forget', 'erase')
    or (d.op = 'restore' and exists (select 1 from kos.decisions as f where f.op = 'forget' and f.subject = d.subject));

-- name: ledger_files
select machine, month, size_bytes, mtime_ns, read_to from kos.ledger_files;

-- name: keep_ledger_file
insert into kos.ledger_files (machine, month, size_bytes, mtime_ns, read_to)
values (%(machine)s, %(month)s, %(size_bytes)s, %(mtime_ns)s, %(read_to)s)
on conflict (machine, month) do update set
    size_bytes = excluded.size_bytes, mtime_ns = excluded.mtime_ns, read_to = excluded.read_to;

-- name: memory_files
select path, memory_id, namespace, size_bytes, mtime_ns, state, code from kos.memory_files;

-- name: files_of
select path, memory_id, namespace, state, code from kos.memory_files where memory_id = any(%(memory_ids)s::uuid[]);

-- name: keep_memory_file
insert into kos.memory_files (path, memory_id, namespace, size_bytes, mtime_ns, state, code)
values (%(path)s, %(memory_id)s, %(namespace)s, %(size_bytes)s, %(mtime_ns)s, %(state)s, %(code)s)
on conflict (path) do update set
    memory_id = excluded.memory_id, namespace = excluded.namespace, size_bytes = excluded.size_bytes,
    mtime_ns = excluded.mtime_ns, state = excluded.state, code = excluded.code;

-- name: drop_memory_files
delete from kos.memory_files where path = any(%(paths)s::text[]);

-- name: pending_files
select path, memory_id, namespace from kos.memory_files where state = 'pending' order by first_seen_at, path;

-- name: file_counts
select state, count(*) as files from kos.memory_files group by state;
