-- What the auditor reads (S7): memories, retired ones too, marked as such; under its own policies, by namespace.

set local role kos_owner;

create view kos.audited_memories with (security_invoker = true) as
select
    m.memory_id, m.namespace, m.memory_type, m.heading, m.content, m.provenance, m.confidence, m.supersedes, m.folded_into,
    m.note_id, m.note_path, m.author, m.event_at, m.created_at, m.updated_at, m.verified_at, m.verified_by, m.verified_how,
    m.boost, m.expires_at, m.deleted_at,
    case
        when m.deleted_reason is not null then m.deleted_reason
        when m.expires_at <= now() then 'expired'
    end as retired
from kos.memories as m;
grant select on kos.audited_memories to kos_auditor, kos_writer;
