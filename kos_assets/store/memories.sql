-- The only file beside the migrations that names kos.memories; called by the gate alone.

-- name: by_id
select
    memory_id, namespace, memory_type, type_reason, type_confidence, heading, content, summary, provenance, confidence,
    supersedes, folded_into, note_id, note_path, author, home_path, lang, event_at, event_zone, event_rule, keywords,
    verified_at, verified_by, expires_at, deleted_at, deleted_reason, content_hash, fold_hash, created_at, updated_at
from kos.memories where memory_id = any(%(memory_ids)s::uuid[]) order by memory_id for no key update;

-- name: fold_groups
select distinct namespace, fold_hash as body_hash
from kos.memories where note_id = any(%(note_ids)s::uuid[]) and fold_hash is not null;

-- name: insert
insert into kos.memories (
    memory_id, namespace, memory_type, type_reason, type_confidence, heading, content, provenance, confidence,
    supersedes, folded_into, note_id, note_path, author, home, home_path, lang, event_at, event_zone, event_rule,
    keywords, verified_at, verified_by, expires_at, deleted_at, deleted_reason, content_hash, fold_hash, idempotency_key
) values (
    %(memory_id)s, %(namespace)s, %(memory_type)s, %(type_reason)s, %(type_confidence)s, %(heading)s, %(content)s,
    %(provenance)s, %(confidence)s, %(supersedes)s, %(folded_into)s, %(note_id)s, %(note_path)s, %(author)s,
    %(home)s::text::ltree, %(home_path)s, %(lang)s, %(event_at)s, %(event_zone)s, %(event_rule)s, %(keywords)s,
    %(verified_at)s, %(verified_by)s, %(expires_at)s, %(deleted_at)s, %(deleted_reason)s, %(content_hash)s,
    %(fold_hash)s, %(idempotency_key)s
);

-- name: update
update kos.memories set
    namespace = %(namespace)s, memory_type = %(memory_type)s, type_reason = %(type_reason)s,
    type_confidence = %(type_confidence)s, heading = %(heading)s, content = %(content)s, provenance = %(provenance)s,
    confidence = %(confidence)s, folded_into = %(folded_into)s, note_path = %(note_path)s, author = %(author)s,
    home = %(home)s::text::ltree, home_path = %(home_path)s, lang = %(lang)s, event_at = %(event_at)s,
    event_zone = %(event_zone)s, event_rule = %(event_rule)s, keywords = %(keywords)s, verified_at = %(verified_at)s,
    verified_by = %(verified_by)s,
    expires_at = %(expires_at)s, deleted_at = %(deleted_at)s, deleted_reason = %(deleted_reason)s,
    content_hash = %(content_hash)s, fold_hash = %(fold_hash)s, updated_at = now()
where memory_id = %(memory_id)s;

-- name: retire
with standing as (
    select memory_id from kos.memories
    where memory_id = any(%(memory_ids)s::uuid[]) and deleted_at is null
    order by memory_id for no key update
)
update kos.memories as m set deleted_at = %(at)s, deleted_reason = %(reason)s, updated_at = now()
from standing as s where m.memory_id = s.memory_id
returning m.memory_id, m.namespace;

-- name: expired
select memory_id from kos.memories
where deleted_at is null and expires_at <= %(at)s
order by expires_at, memory_id limit %(limit)s;

-- name: record_history
insert into kos.memory_history (memory_id, namespace, at, principal, action, reason, before, after)
values (%(memory_id)s, %(namespace)s, %(at)s, %(principal)s, %(action)s, %(reason)s, %(before)s, %(after)s);

-- name: history
select history_id, memory_id, at, principal, action, reason, before, after
from kos.memory_history where memory_id = %(memory_id)s order by history_id;

-- name: nearest
select n.memory_id, n.distance from kos.nearest_memory(%(namespace)s, %(embedding)s) as n;

-- name: by_key
select memory_id from kos.memories where idempotency_key = %(key)s;

-- name: lock_namespace
select pg_advisory_xact_lock(hashtext('kos.gate'), hashtext(%(namespace)s));

-- name: fold_targets
select memory_id, coalesce(folded_into, memory_id) as target_id
from kos.memories where note_id is not null and (deleted_at is null or folded_into is not null);

-- name: counts
select
    count(*) filter (where deleted_at is null) as live,
    count(*) filter (where deleted_reason = 'folded') as folded,
    count(*) filter (where deleted_reason = 'expired') as expired,
    count(*) filter (where deleted_at is not null and deleted_reason not in ('folded', 'expired')) as retired
from kos.memories where note_id is not null;

-- name: folded
select m.note_path as path, c.note_path as canonical_path, m.memory_id, c.memory_id as canonical_id
from kos.memories as m inner join kos.memories as c on m.folded_into = c.memory_id
where m.deleted_reason = 'folded' order by m.note_path;

-- name: refresh_scope
select kos.enter_pipeline();

-- name: copy_generated
copy kos.memories (
    memory_id, namespace, memory_type, heading, content, provenance, confidence, home, home_path, event_at, event_rule,
    content_hash
) from stdin;
