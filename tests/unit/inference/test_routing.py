"""inference.toml: what is accepted, merged and refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kos_assets.errors import ConfigError
from kos_assets.inference.router import embedder
from kos_assets.inference.routing import SHIPPED_ROUTING, load_routing


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
    example = SHIPPED_ROUTING.read_text(encoding="utf-8").partition("An Ollama server instead")[2]
    lines = [
        line.removeprefix("# ")
        for line in example.splitlines()[1:]
        if line.startswith("# ") and ("=" in line or "[" in line)
    ]
    routing = load_routing(write(tmp_path, "\n".join(lines)))
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
    route = load_routing(write(tmp_path, text)).embed
    assert dict(route.options) == {"model": "mine", "host": "http://127.0.0.1:1", "batch": 4}


EMBEDDED = "[task.embed]\nprovider = 'embedded'\n"
OLLAMA = "[task.embed]\nprovider = 'ollama'\nmodel = 'x'\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "[task.embed] is missing"),
        ("[task.embed]", "provider is missing in [task.embed]"),
        (EMBEDDED + "[task.summry]\nprovider = 'embedded'", "unknown block [task.summry]"),
        (EMBEDDED + "[provider.olama]", "unknown block [provider.olama]"),
        (EMBEDDED + "[tasks.x]", "unknown block [tasks]"),
        (EMBEDDED + "model = 'x'", "unknown key 'model' in [task.embed]"),
        (OLLAMA + "batchsize = 3", "unknown key 'batchsize'"),
        (OLLAMA + "[provider.ollama]\nurl = 'x'", "unknown key 'url' in [provider.ollama]"),
        ("[task.embed]\nprovider = 'ollama'", "model is missing for provider 'ollama'"),
        ("[task.embed]\nprovider = 'ollama'\nmodel = ''", "model in [task.embed] must be a string that is not empty"),
        (OLLAMA + "batch = 0", "batch in [task.embed] must be a whole number above 0"),
        (OLLAMA + "batch = true", "batch in [task.embed] must be a whole number"),
        (OLLAMA + "timeout_s = '9'", "timeout_s in [task.embed] must be a number"),
        ("[task.embed]\nprovider = ['embedded']", "may not be ['embedded']"),
        ("task = 3", "[task] must be a table"),
        ("[task]\nembed = 3", "[task.embed] must be a table"),
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
        load_routing(write(tmp_path, f"[task.embed]\nprovider = '{provider}'"))
    assert "must run on this machine" in str(refused.value)
    assert "embedded, ollama" in str(refused.value)


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
    other = load_routing(write(tmp_path, "[task.embed]\nprovider = 'ollama'\nmodel = 'm'"))
    assert embedder(load_routing(None)) is embedder(load_routing(None))
    assert embedder(other) is not embedder(load_routing(None))


def test_choosing_an_embedder_loads_no_model() -> None:
    """E1: runtimes and clients are imported where they work, not where they are chosen."""
    code = (
        "import sys; from kos_assets.inference import router; router.embedder(router.load_routing(None));"
        "print({'numpy', 'onnxruntime', 'tokenizers', 'ollama', 'httpx'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == "set()"
