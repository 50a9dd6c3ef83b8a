"""A small store with known health, and one night over it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from kos_assets import testing
from kos_assets.assets.dbt import dbt_resource
from kos_assets.assets.dbt_manifest import prepare_manifest
from kos_assets.definitions import nightly
from kos_assets.settings import Settings
from kos_assets.store.database import Store, role_dsn

# Dagster reads pydantic's old attribute, dagster-dbt reads Dagster's old one: theirs to mend.
THEIRS = (
    "ignore:The `__fields__` attribute is deprecated:DeprecationWarning",
    "ignore:AssetExecutionContext.op is deprecated:DeprecationWarning",
)

SECRET = "Zanzibarwhisper"
"""Planted in every text of the store: it must not turn up in a mart."""

ROWS = """
insert into kos.notes (
    note_id, source, path, title, title_rule, content, namespace, type_reason, type_confidence, provenance, confidence,
    home_path, lang, event_rule, properties, structure, size_bytes, mtime_ns, file_hash, content_hash, stamped,
    row_hash, synced_hash
)
select n.id, 'vault', n.g || '.md', %(secret)s, 'h1', %(secret)s, 'global', 'rule', 1, 'raw', 0.9, '', 'en', 'none',
    '{}', '{}', 1, 1, 'f' || n.g, 'c' || n.g, true, 'r' || n.g, case when n.g < 6 then 'r' || n.g end
from (select g, ('00000000-0000-0000-0001-00000000000' || g)::uuid as id from generate_series(1, 6) as g) as n;

insert into kos.memories (
    memory_id, namespace, memory_type, heading, content, provenance, confidence, note_id, home, home_path, event_at,
    created_at, updated_at, content_hash, expires_at
)
select m.id, 'global',
    case m.g when 6 then 'working' when 5 then 'episodic' else 'semantic' end,
    %(secret)s || m.g, %(secret)s || ' is the content', 'raw', 0.9,
    ('00000000-0000-0000-0001-00000000000' || m.g)::uuid,
    'a'::ltree, 'a', now() - make_interval(days => m.g * 60 + 1), now() - interval '1 day', now() - interval '1 day',
    'c' || m.g, case when m.g = 6 then now() - interval '1 hour' end
from (select g, ('00000000-0000-0000-0000-00000000000' || g)::uuid as id from generate_series(1, 6) as g) as m;

insert into kos.index_state (memory_id, indexed_hash, recipe, embed_hash)
select memory_id, content_hash, 1, 'e' || content_hash from kos.memories;

insert into kos.chunks (memory_id, ordinal, namespace, live, heading_path, body, start_line, end_line, lang, length)
select memory_id, 0, namespace, true, '{}', content, 1, 2, 'en', 3 from kos.memories;

select kos.register_model('test', 3, '{}');

-- 1 and 2 nearly agree; 3 and 4 are far from each other and from them; 5 has no vector.
insert into kos.embeddings (model_key, memory_id, ordinal, namespace, live, content_hash, embedding)
select a.model_key, m.memory_id, -1, m.namespace, true, 'e' || m.content_hash,
    v.embedding::halfvec
from (values (1, '[1,0,0]'), (2, '[1,0.1,0]'), (3, '[0,1,0]'), (4, '[0,0,1]'), (6, '[1,0,0]')) as v (g, embedding)
inner join kos.memories as m on m.memory_id = ('00000000-0000-0000-0000-00000000000' || v.g)::uuid
cross join kos.embedding_models as a;
select kos.activate_model(model_key) from kos.embedding_models;

insert into kos.traces (trace_id, at, principal, namespaces, kind, query, filters, confidence, results, latency_ms)
select ('00000000-0000-0000-0002-00000000000' || g)::uuid, now() - interval '1 minute', 'owner', '{global}', 'search',
    %(secret)s, '{}', 'strong',
    case when g = 4 then '[]'::jsonb else '[{"memory_id":"00000000-0000-0000-0000-000000000001"}]'::jsonb end, 12
from generate_series(1, 4) as g;
insert into kos.trace_reads (trace_id, memory_id, at)
values ('00000000-0000-0000-0002-000000000001', '00000000-0000-0000-0000-000000000001', now());
insert into kos.traces (trace_id, at, principal, namespaces, kind, query, filters, confidence, results, latency_ms)
values (gen_random_uuid(), now() - interval '800 days', 'owner', '{global}', 'search', 'old', '{}', 'none', '[]', 1);

insert into kos.quarantine (path, code, line, severity, namespace, reason, fix)
values ('bad.md', 'binary', 0, 'blocked', 'global', %(secret)s, 'mend');
"""


def pytest_configure(config: pytest.Config) -> None:
    """Before this folder's modules are imported, which is when resources are made."""
    for line in THEIRS:
        config.addinivalue_line("filterwarnings", line)


def fill(settings: Settings) -> None:
    """Write the small store as kos_writer, in a pipeline transaction."""
    with testing.store(settings) as store, store.transaction(pipeline=True) as session:
        for statement in ROWS.split(";\n"):
            if statement.strip():
                session.run(statement, secret=SECRET)


@contextmanager
def bound(settings: Settings) -> Iterator[dict[str, object]]:
    """The nightly location's resources, bound to settings at hand."""
    with Store(role_dsn(settings, "writer")) as store, Store(role_dsn(settings, "dbt")) as facts:
        yield {"settings": settings, "store": store, "facts": facts, "dbt": dbt_resource()}


@dataclass(frozen=True)
class Night:
    """A finished nightly run; `secret` is a word of every text in its store."""

    settings: Settings
    result: dg.ExecuteInProcessResult
    definitions: dg.Definitions
    secret: str = SECRET


@pytest.fixture
def filled(database: Settings) -> Settings:
    """Settings of a database of its own with the small store in it."""
    fill(database)
    return database


@pytest.fixture(scope="session")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's manifest, parsed once."""
    return prepare_manifest(tmp_path_factory.mktemp("dbt"))


@pytest.fixture(scope="session")
def night(postgres: testing.TestServer, manifest: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Night]:
    """One run of the nightly job over the small store."""
    base = Settings(data_dir=tmp_path_factory.mktemp("night"))
    with postgres.database(base) as settings:
        fill(settings)
        definitions = nightly.build(settings, manifest)
        job = definitions.resolve_job_def("nightly")
        with bound(settings) as resources, dg.DagsterInstance.ephemeral() as instance:
            result = job.execute_in_process(instance=instance, resources=resources)
            yield Night(settings, result, definitions)
