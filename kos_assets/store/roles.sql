-- Roles, schemas and extensions, as an administrator. Passwords and names are composed in store/migrate.py.

-- name: role_exists
select exists(select 1 from pg_roles where rolname = %(role)s) as present;

-- name: server_facts
select
    current_setting('server_version_num')::integer as version_number,
    current_setting('server_version') as version,
    current_setting('server_encoding') as encoding,
    (select string_agg(name, ',') from pg_available_extensions where name = any(%(extensions)s::text[])) as available,
    (select default_version from pg_available_extensions where name = 'vector') as vector_version;

-- name: installed_vector
select extversion as version from pg_extension where extname = 'vector';

-- name: create_extensions
create extension if not exists vector;
create extension if not exists ltree;
create extension if not exists pg_trgm;

-- name: load_vector
select vector_dims('[1]'::vector);

-- name: create_schemas
grant usage, create on schema kos to kos_owner, kos_view;
grant usage on schema kos to kos_writer, kos_reader, kos_auditor, kos_dbt;
grant usage on schema kos_marts to kos_reader;

-- name: applied_migrations
select number, name, checksum from kos.applied_migrations order by number;

-- name: migrations_view_exists
select to_regclass('kos.applied_migrations') is not null as present;

-- name: create_migrations_table
set local role kos_owner;
create table if not exists kos.migrations (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default now()
);
create or replace view kos.applied_migrations as select m.number, m.name, m.checksum from kos.migrations as m;
grant select on kos.applied_migrations to kos_reader, kos_writer, kos_dbt, kos_auditor;
reset role;

-- name: record_migration
insert into kos.migrations (number, name, checksum) values (%(number)s, %(name)s, %(checksum)s);

-- name: migration_lock
select pg_advisory_xact_lock(hashtext('kos.migrate'));
