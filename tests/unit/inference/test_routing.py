"""inference.toml: what is accepted, merged and refused."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from kos_assets.errors import ConfigError
from kos_assets.inference import router
from kos_assets.inference.completion import Request
from kos_assets.inference.router import embedder
from kos_assets.inference.routing import EXAMPLES, MODEL_TASKS, SHIPPED_ROUTING, TASKS, load_routing

RULES = "".join(f"[task.{task}]\nprovider = 'embedded'\n" for task in MODEL_TASKS)
"""The blocks of all tasks but `embed`."""


def write(folder: Path, text: str) -> Path:
    path = folder / "inference.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_shipped_routing_is_embedded() -> None:
    """E8: with the shipped default nothing leaves the machine."""
    routing = load_routing(None)
    assert routing.embed.provider == "embedded"
    assert routing.embed.options == ()
    assert routing.source == str(SHIPPED_ROUTING)


def test_the_commented_example_works(tmp_path: Path) -> None:
    """E1: the Ollama example in the shipped file is valid as it stands there."""
    example = SHIPPED_ROUTING.read_text(encoding="utf-8").partition("An Ollama server for the vectors instead")[2]
    lines = [
        line.removeprefix("# ")
        for line in example.splitlines()[1:]
        if line.startswith("# ") and ("=" in line or "[" in line)
    ]
    routing = load_routing(write(tmp_path, RULES + "\n".join(lines)))
    assert routing.embed.provider == "ollama"
    assert routing.embed.option("query_prefix") == "query: "


def test_task_overrides_provider(tmp_path: Path) -> None:
    """E1: [provider.X] gives defaults, [task.Y] overrides win."""
    text = """
    [task.embed]
    provider = "ollama"
    model = "mine"
    [provider.ollama]
    host = "http://127.0.0.1:1"
    model = "other"
    batch = 4
    """
    route = load_routing(write(tmp_path, RULES + text)).embed
    assert dict(route.options) == {"model": "mine", "host": "http://127.0.0.1:1", "batch": 4}


EMBEDDED = RULES + "[task.embed]\nprovider = 'embedded'\n"
OLLAMA = RULES + "[task.embed]\nprovider = 'ollama'\nmodel = 'x'\n"
REST = EMBEDDED.replace("[task.summary]\nprovider = 'embedded'\n", "")
"""All but `summary`."""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (RULES, "[task.embed] is missing"),
        (REST, "[task.summary] is missing"),
        (RULES + "[task.embed]", "provider is missing in [task.embed]"),
        (REST + "[task.summary]\nprovider = 'openai'", "provider in [task.summary] may not be 'openai'"),
        (REST + "[task.summary]\nprovider = 'anthropic'", "model is missing for provider 'anthropic'"),
        (REST + "[task.summary]\nprovider = 'claude-cli'", "model is missing for provider 'claude-cli'"),
        (REST + "[task.summary]\nprovider = 'ollama'\nmodel = 'm'\nbatch = 3", "unknown key 'batch' in [task.summary]"),
        (REST + "[task.summary]\nprovider = 'ollama'\nmodel = 'm'\ndaily_tokens = 3", "unknown key 'daily_tokens'"),
        (REST + "[task.summary]\nprovider = 'anthropic'\nmodel = 'm'\ntemperature = 1", "unknown key 'temperature'"),
        (REST + "[task.summary]\nprovider = 'anthropic'\nmodel = 'm'\napi_key = 'x'", "unknown key 'api_key'"),
        (OLLAMA + "[provider.anthropic]\nbase_url = 'http://example.org'", "must be an https:// address"),
        (OLLAMA + "[provider.anthropic]\nbase_url = 'https://'", "must be an https:// address"),
        (OLLAMA + "[provider.claude-cli]\ndaily_tokens = 0", "daily_tokens in [provider.claude-cli] must be a whole"),
        (RULES + "[task.embed]\nprovider = 'ollama'\nmodel = 'big:120b-cloud'", "must run on this one (E3)"),
        (EMBEDDED + "[task.summry]\nprovider = 'embedded'", "unknown block [task.summry]"),
        (EMBEDDED + "[provider.olama]", "unknown block [provider.olama]"),
        (EMBEDDED + "[tasks.x]", "unknown block [tasks]"),
        (EMBEDDED + "model = 'x'", "unknown key 'model' in [task.embed]"),
        (OLLAMA + "batchsize = 3", "unknown key 'batchsize'"),
        (OLLAMA + "[provider.ollama]\nurl = 'x'", "unknown key 'url' in [provider.ollama]"),
        (RULES + "[task.embed]\nprovider = 'ollama'", "model is missing for provider 'ollama'"),
        (RULES + "[task.embed]\nprovider = 'ollama'\nmodel = ''", "must be a string that is not empty"),
        (OLLAMA + "batch = 0", "batch in [task.embed] must be a whole number above 0"),
        (OLLAMA + "batch = true", "batch in [task.embed] must be a whole number"),
        (OLLAMA + "timeout_s = '9'", "timeout_s in [task.embed] must be a number"),
        (RULES + "[task.embed]\nprovider = ['embedded']", "may not be ['embedded']"),
        ("task = 3", "[task] must be a table"),
        ("task.embed = 3\n" + RULES, "[task.embed] must be a table"),
        ("[task.embed", "is not valid TOML"),
    ],
)
def test_start_up_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """E2: a missing or unknown task block, provider or key stops start-up; the message names file and key."""
    path = write(tmp_path, text)
    with pytest.raises(ConfigError) as refused:
        load_routing(path)
    assert said in str(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("provider", ["anthropic", "claude-cli", "openai", "Embedded"])
def test_embed_must_be_local(tmp_path: Path, provider: str) -> None:
    """E3: `embed` routed anywhere but embedded or ollama is refused, and the allowed values are named."""
    with pytest.raises(ConfigError) as refused:
        load_routing(write(tmp_path, RULES + f"[task.embed]\nprovider = '{provider}'\nmodel = 'm'"))
    assert "must run on this machine" in str(refused.value)
    assert "embedded, ollama" in str(refused.value)


def test_a_file_from_before_the_other_tasks_is_told_what_to_add(tmp_path: Path) -> None:
    """E2: a file with only [task.embed] is refused with the blocks to paste; pasted, they are accepted."""
    old = "[task.embed]\nprovider = 'ollama'\nmodel = 'nomic-embed-text'\n"
    with pytest.raises(ConfigError) as refused:
        load_routing(write(tmp_path, old))
    assert "[task.entity_extract], [task.entity_gate]" in refused.value.what
    assert "[task.embed]" not in refused.value.what
    assert refused.value.fix is not None
    pasted = refused.value.fix.partition("\n\n")[2]
    routing = load_routing(write(tmp_path, old + pasted))
    assert routing.embed.provider == "ollama"
    assert {routing.tasks[task].provider for task in MODEL_TASKS} == {"embedded"}


def test_the_twelve_tasks_are_those_of_the_contract() -> None:
    """E2: the tasks, by name, and each of them routed in the shipped file."""
    assert sorted(TASKS) == [
        "concept_label", "doc_kind", "embed", "entity_extract", "entity_gate", "event_time", "importance",
        "lesson_extract", "memory_type", "merge_judge", "relation_extract", "summary",
    ]  # fmt: skip
    shipped = load_routing(None)
    assert set(shipped.tasks) == set(TASKS)
    assert {route.provider for route in shipped.tasks.values()} == {"embedded"}
    assert shipped.lanes == ()
    assert shipped.budgets == {}


def test_completing_tasks_take_the_providers_defaults(tmp_path: Path) -> None:
    """E1, E6: [provider.X] gives defaults, [task.Y] overrides; batches stay with `embed`, budgets with lanes."""
    text = (
        REST
        + """
    [task.summary]
    provider = "ollama"
    model = "big"
    [provider.ollama]
    host = "http://127.0.0.1:1"
    model = "small"
    batch = 4
    daily_tokens = 9
    """
    )
    routing = load_routing(write(tmp_path, text))
    assert dict(routing.tasks["summary"].options) == {"model": "big", "host": "http://127.0.0.1:1"}
    assert routing.budgets == {"ollama": 9}
    assert routing.lanes == ("ollama",)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_examples_load_and_say_what_leaves_the_machine(path: Path) -> None:
    """E1, E8: each shipped example is valid, and says beside every task what is sent."""
    routing = load_routing(path)
    text = path.read_text(encoding="utf-8")
    assert "Leaves the machine:" in text
    blocks = text.split("[task.")[1:]
    assert len(blocks) == len(TASKS)
    for block in blocks:
        provider = next(line for line in block.splitlines() if line.startswith("provider"))
        assert re.search(r"# (leaves the machine|sent to host): \w+", provider), block
        by_rules = routing.tasks[block.partition("]")[0]].provider == "embedded"
        assert by_rules == ("nothing" in provider)


def test_the_examples_are_the_two_of_the_contract() -> None:
    """E1: one example is all local, one has Claude do the bulk."""
    assert sorted(path.name for path in EXAMPLES.glob("*.toml")) == ["claude.toml", "ollama.toml"]
    assert load_routing(EXAMPLES / "ollama.toml").lanes == ("ollama",)
    claude = load_routing(EXAMPLES / "claude.toml")
    assert claude.lanes == ("claude-cli", "anthropic")
    assert claude.embed.provider == "embedded"


def test_rules_answer_no_call() -> None:
    """E1: a task under `embedded` has a completer that refuses and says how to route it."""
    routing = load_routing(None)
    assert router.is_by_rules(routing, "summary")
    rules = router.completer(routing, "summary")
    assert (rules.lane, rules.model) == ("embedded", "embedded/rules")
    with pytest.raises(ConfigError, match=r"Route \[task\.summary\] to"):
        rules.complete(Request("summary", "", "", {}, 1))
    with pytest.raises(ConfigError, match="has no completer"):
        router.completer(routing, "embed")


def test_a_routed_provider_without_its_key_stops_start_up() -> None:
    """E2: Anthropic without a key is refused before any call; with one, each task has its provider's completer."""
    routing = load_routing(EXAMPLES / "claude.toml")
    with pytest.raises(ConfigError, match="there is no API key"):
        router.check_access(routing, router.Access.of(anthropic_api_key=""))
    access = router.Access.of(anthropic_api_key="secret-key", environment={"PATH": "/bin"})
    router.check_access(routing, access)
    assert router.completer(routing, "summary", access).model == "anthropic/claude-haiku-4-5"
    assert router.completer(routing, "merge_judge", access).model == "claude-cli/sonnet"
    assert router.completer(routing, "summary", access) is router.completer(routing, "relation_extract", access)
    assert router.batches(routing, "summary", access) is router.completer(routing, "summary", access)
    assert router.batches(routing, "merge_judge", access) is None
    assert "secret-key" not in repr(access)


def test_missing_and_unreadable_files_are_said(tmp_path: Path) -> None:
    """E2: a file that is not there, or no text, is a clear error."""
    with pytest.raises(ConfigError, match="no such file"):
        load_routing(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_routing(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_routing(tmp_path / "binary.toml")


def test_one_embedder_per_routing(tmp_path: Path) -> None:
    """E3: a process has one model session, however often the embedder is asked for."""
    other = load_routing(write(tmp_path, RULES + "[task.embed]\nprovider = 'ollama'\nmodel = 'm'"))
    assert embedder(load_routing(None)) is embedder(load_routing(None))
    assert embedder(other) is not embedder(load_routing(None))


def test_choosing_an_embedder_loads_no_model() -> None:
    """E1: runtimes and clients are imported where they work, not where they are chosen."""
    code = (
        "import sys; from kos_assets.inference import router, routing; router.embedder(router.load_routing(None));"
        "access = router.Access.of(anthropic_api_key='k');"
        "router.check_access(router.load_routing(routing.EXAMPLES / 'claude.toml'), access);"
        "router.check_access(router.load_routing(routing.EXAMPLES / 'ollama.toml'), access);"
        "print({'numpy', 'onnxruntime', 'tokenizers', 'ollama', 'httpx', 'anthropic', 'httpx2'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == "set()"
