-- The index of the vault's files.

-- name: known
select note_id, path, namespace, size_bytes, mtime_ns, file_hash, content_hash, stamped, event_rule
from kos.notes where source = %(source)s and deleted_at is null;

-- name: upsert
insert into kos.notes (
    note_id, source, path, title, title_rule, content, namespace, memory_type, type_reason, type_confidence,
    provenance, confidence, author, home_path, lang, event_at, event_zone, event_rule, source_updated_at, verified_at,
    expires_at, properties, structure, size_bytes, mtime_ns, file_hash, content_hash, body_hash, stamped, row_hash
) values (
    %(note_id)s, %(source)s, %(path)s, %(title)s, %(title_rule)s, %(content)s, %(namespace)s, %(memory_type)s,
    %(type_reason)s, %(type_confidence)s, %(provenance)s, %(confidence)s, %(author)s, %(home_path)s, %(lang)s,
    %(event_at)s, %(event_zone)s, %(event_rule)s, %(source_updated_at)s, %(verified_at)s, %(expires_at)s,
    %(properties)s, %(structure)s, %(size_bytes)s, %(mtime_ns)s, %(file_hash)s, %(content_hash)s, %(body_hash)s,
    %(stamped)s, %(row_hash)s
)
on conflict (note_id) do update set
    path = excluded.path, title = excluded.title, title_rule = excluded.title_rule, content = excluded.content,
    namespace = excluded.namespace, memory_type = excluded.memory_type, type_reason = excluded.type_reason,
    type_confidence = excluded.type_confidence, provenance = excluded.provenance, confidence = excluded.confidence,
    author = excluded.author, home_path = excluded.home_path, lang = excluded.lang, event_at = excluded.event_at,
    event_zone = excluded.event_zone, event_rule = excluded.event_rule,
    source_updated_at = excluded.source_updated_at, verified_at = excluded.verified_at,
    expires_at = excluded.expires_at, properties = excluded.properties, structure = excluded.structure,
    size_bytes = excluded.size_bytes, mtime_ns = excluded.mtime_ns, file_hash = excluded.file_hash,
    content_hash = excluded.content_hash, body_hash = excluded.body_hash, stamped = excluded.stamped,
    row_hash = excluded.row_hash, updated_at = now(), deleted_at = null;

-- name: touch
update kos.notes set
    size_bytes = %(size_bytes)s, mtime_ns = %(mtime_ns)s, file_hash = %(file_hash)s, stamped = %(stamped)s
where note_id = %(note_id)s;

-- name: mark_deleted
update kos.notes set deleted_at = now(), updated_at = now(), row_hash = 'deleted'
where note_id = any(%(note_ids)s::uuid[]) and deleted_at is null;

-- name: delete_links
delete from kos.note_links where note_id = any(%(note_ids)s::uuid[]);

-- name: insert_links
insert into kos.note_links (note_id, ordinal, kind, target, anchor, line)
select l.note_id, l.ordinal, l.kind, l.target, l.anchor, l.line
from unnest(
    %(note_ids)s::uuid[], %(ordinals)s::integer[], %(kinds)s::text[], %(targets)s::text[], %(anchors)s::text[],
    %(lines)s::integer[]
) as l (note_id, ordinal, kind, target, anchor, line);

-- name: names
select note_id, path, title, namespace, structure -> 'aliases' as aliases
from kos.notes where deleted_at is null;

-- name: connections
select path, namespace, structure -> 'connections' as connections
from kos.notes where deleted_at is null and jsonb_array_length(structure -> 'connections') > 0
order by path;

-- name: links
select l.note_id, n.path, l.ordinal, l.kind, l.target, l.anchor
from kos.note_links as l
inner join kos.notes as n on l.note_id = n.note_id and n.deleted_at is null
where %(note_ids)s::uuid[] is null or l.note_id = any(%(note_ids)s::uuid[]);

-- name: unsynced
select note_id, namespace, body_hash
from kos.notes where synced_hash is distinct from row_hash
order by note_id limit %(limit)s;

-- name: unsynced_of
select note_id, namespace, body_hash from kos.notes where note_id = any(%(note_ids)s::uuid[]) order by note_id;

-- name: unsync
update kos.notes set synced_hash = null where note_id = any(%(note_ids)s::uuid[]);

-- name: bodies
select note_id, namespace, body_hash from kos.notes where deleted_at is null and body_hash is not null;

-- name: group_members
select n.note_id, n.path, n.namespace, n.body_hash, n.source_updated_at, (n.synced_hash is distinct from n.row_hash) as unsynced
from kos.notes as n
inner join unnest(%(namespaces)s::text[], %(body_hashes)s::text[]) as g (namespace, body_hash)
    on n.namespace = g.namespace and n.body_hash = g.body_hash
where n.deleted_at is null;

-- name: by_id
select
    note_id, path, title, content, namespace, memory_type, type_reason, type_confidence, provenance, confidence, author,
    home_path, lang, event_at, event_zone, event_rule, source_updated_at, verified_at, expires_at, body_hash, row_hash,
    structure -> 'aliases' as aliases, structure -> 'tags' as tags, deleted_at
from kos.notes where note_id = any(%(note_ids)s::uuid[]);

-- name: mark_synced
update kos.notes as n set synced_hash = s.row_hash
from unnest(%(note_ids)s::uuid[], %(row_hashes)s::text[]) as s (note_id, row_hash)
where n.note_id = s.note_id;

-- name: quarantine
insert into kos.quarantine (path, code, line, severity, namespace, reason, fix)
values (%(path)s, %(code)s, %(line)s, %(severity)s, %(namespace)s, %(reason)s, %(fix)s)
on conflict (path, code, line) do update set
    severity = excluded.severity, namespace = excluded.namespace, reason = excluded.reason, fix = excluded.fix,
    last_seen_at = now();

-- name: release
delete from kos.quarantine where path = any(%(paths)s::text[]);

-- name: quarantined
select path, code, line, severity, namespace, reason, fix from kos.quarantine order by severity, path, line, code;

-- name: accounting
select
    (select count(*) from kos.notes where deleted_at is null) as notes,
    (select count(distinct path) from kos.quarantine where severity = 'blocked') as blocked,
    (select count(distinct path) from kos.quarantine where severity = 'problem') as with_problems;

-- name: installation
select vault_id, vault_root, links_hash, notes_recipe from kos.installation;

-- name: adopt
insert into kos.installation (vault_id, vault_root) values (%(vault_id)s, %(vault_root)s)
on conflict (only_row) do update set vault_id = excluded.vault_id, vault_root = excluded.vault_root;

-- name: set_notes_recipe
update kos.installation set notes_recipe = %(notes_recipe)s;

-- name: set_links_hash
update kos.installation set links_hash = %(links_hash)s;
