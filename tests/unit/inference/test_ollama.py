"""The Ollama provider, through its real client, against a strict loopback double."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kos_assets.errors import ConfigError, ItemError, ProviderUnavailableError
from kos_assets.inference.providers.ollama import OllamaEmbedder, Recipe, recipe_for
from kos_assets.inference.router import embedder
from kos_assets.inference.routing import MODEL_TASKS, load_routing


def plain(double: Any, **options: Any) -> OllamaEmbedder:
    return OllamaEmbedder("plain", host=double.url, timeout_s=5, **options)


def test_recipe_of_known_families() -> None:
    """E3: queries get the pinned prefix, documents only where the model's card asks for one."""
    assert recipe_for("nomic-embed-text:v1.5").query_prefix == "search_query: "
    assert recipe_for("nomic-embed-text").document_prefix == "search_document: "
    assert recipe_for("embeddinggemma:300m").document_prefix == "title: none | text: "
    assert recipe_for("qwen3-embedding:0.6b").query_prefix.endswith("\nQuery:")
    assert recipe_for("qwen3-embedding:0.6b").document_prefix == ""
    assert recipe_for("jeffh/intfloat-multilingual-e5-large:f16").document_prefix == "passage: "
    assert recipe_for("mxbai-embed-large").document_prefix == ""
    assert recipe_for("my-model5") == recipe_for("note50") == Recipe()


def test_documents_and_queries_get_their_prefix(ollama_double: Any) -> None:
    """E3: the recipe is applied and is part of the identity."""
    model = OllamaEmbedder("nomic-embed-text", host=ollama_double.url)
    documents = model.embed_documents(["one", ""])
    query = model.embed_query("two")
    assert ollama_double.inputs == ["search_document: one", "search_document:  ", "search_query: two"]
    assert documents.shape == (2, 16)
    assert query.shape == (16,)
    assert documents.dtype == query.dtype == np.float32
    assert np.allclose(np.linalg.norm(documents, axis=1), 1, atol=1e-6)
    assert ollama_double.requests[0]["truncate"] is True
    assert ollama_double.requests[0]["options"] == {"num_ctx": 2048}
    assert model.identity.model_id.startswith("ollama/nomic-embed-text@aaaaaaaa/r1-")
    assert model.identity.dims == 16


def test_empty_texts_have_vectors(ollama_double: Any) -> None:
    """E3: Ollama gives no vector for an empty string, so a blank is sent."""
    assert plain(ollama_double).embed_documents(["", "x"]).shape == (2, 16)
    assert plain(ollama_double).embed_query("").shape == (16,)
    assert plain(ollama_double).embed_documents([]).shape == (0, 16)


def test_batches_keep_order(ollama_double: Any) -> None:
    """E3: texts go in batches and come back in order."""
    model = plain(ollama_double, batch=3)
    texts = [f"text {number}" for number in range(8)]
    vectors = model.embed_documents(texts)
    assert [len(request["input"]) for request in ollama_double.requests] == [3, 3, 2]
    assert np.allclose(vectors[7], model.embed_documents([texts[7]])[0])


def test_a_newly_pulled_version_is_another_model(ollama_double: Any) -> None:
    """S9: the server's digest is in the identity."""
    before = plain(ollama_double).identity.model_id
    ollama_double.models["plain:latest"] = "c" * 64
    assert before == "ollama/plain@bbbbbbbb/r1"
    assert plain(ollama_double).identity.model_id == "ollama/plain@cccccccc/r1"


def test_dimensions_are_another_model(ollama_double: Any) -> None:
    """S9: shortened vectors do not mix with whole ones."""
    model = plain(ollama_double, dimensions=8)
    assert (model.identity.name, model.identity.dims) == ("plain-8d", 8)


def test_routing_overrides_the_recipe(ollama_double: Any, tmp_path: Path) -> None:
    """E1, E3: prefixes of the file win over the table."""
    path = tmp_path / "inference.toml"
    rules = "".join(f"[task.{task}]\nprovider = 'embedded'\n" for task in MODEL_TASKS)
    path.write_text(
        rules + f'[task.embed]\nprovider = "ollama"\nmodel = "nomic-embed-text"\nquery_prefix = ""\n'
        f'[provider.ollama]\nhost = "{ollama_double.url}"\nbatch = 1\nwindow_tokens = 100\n'
    )
    model = embedder(load_routing(path))
    model.embed_query("q")
    model.embed_documents(["a", "b"])
    assert ollama_double.inputs == ["q", "search_document: a", "search_document: b"]
    assert model.identity.window_tokens == 100
    assert model.truncates("word " * 200)
    assert not model.truncates("word")


def test_unknown_model_says_how_to_get_it(ollama_double: Any) -> None:
    """E2: a model that was not pulled is a matter of configuration."""
    with pytest.raises(ConfigError, match="ollama pull absent"):
        OllamaEmbedder("absent", host=ollama_double.url).embed_query("x")


@pytest.mark.parametrize(
    ("status", "headers", "wait"), [(503, {"Retry-After": "7"}, 7.0), (429, {}, None), (500, {}, None)]
)
def test_outages_are_no_fault_of_the_item(
    ollama_double: Any, status: int, headers: dict[str, str], wait: float | None
) -> None:
    """E5: 5xx and 429 pause the lane until the stated time; the next call works by itself."""
    model = plain(ollama_double)
    ollama_double.failures.append((status, "overloaded", headers))
    with pytest.raises(ProviderUnavailableError) as outage:
        model.embed_documents(["x"])
    assert outage.value.retry_after_s == wait
    assert model.embed_documents(["x"]).shape == (1, 16)


def test_a_server_that_is_down_is_an_outage() -> None:
    """E5: connection refused is an outage, with what to do."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(ProviderUnavailableError, match="ollama serve"):
        OllamaEmbedder("plain", host=f"http://127.0.0.1:{port}").embed_query("x")


def test_a_server_that_hangs_is_an_outage() -> None:
    """E5: a timeout is an outage."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        model = OllamaEmbedder("plain", host=f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.2)
        with pytest.raises(ProviderUnavailableError, match="does not answer"):
            model.embed_query("x")


@pytest.mark.parametrize("answer", [b"<html>hello</html>", b"{}", b'{"embeddings": "no"}'])
def test_another_server_on_the_port_is_an_outage(ollama_double: Any, answer: bytes) -> None:
    """E5: an answer that is not Ollama's blames no text."""
    ollama_double.raw_answer = answer
    with pytest.raises(ProviderUnavailableError, match="does not answer as Ollama does"):
        plain(ollama_double).embed_query("x")


def test_a_refused_text_is_named(ollama_double: Any) -> None:
    """E5: only an error about the item itself counts as an attempt; the message says which one."""
    ollama_double.refused_text = "bad"
    with pytest.raises(ItemError, match="Text 4"):
        plain(ollama_double, batch=3).embed_documents(["a", "b", "c", "d", "bad", "e"])


def test_too_large_for_the_server_is_the_texts_fault(ollama_double: Any) -> None:
    """E5: llama.cpp answers 500 for a text beyond its batch: retrying would never help."""
    ollama_double.failures.append((500, "input (9000 tokens) is too large to process", {}))
    with pytest.raises(ItemError, match="refused a text"):
        plain(ollama_double).embed_query("x")


def test_proxies_of_the_environment_are_not_used(ollama_double: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """E8: notes go to the host that the routing names, not through a proxy."""
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert plain(ollama_double).embed_query("x").shape == (16,)


def test_count_is_an_estimate_on_the_high_side(ollama_double: Any) -> None:
    """G4: English about 3 characters a token, CJK one."""
    model = plain(ollama_double)
    assert model.count_tokens("") == 0
    assert model.count_tokens("a" * 350) == 115
    assert model.count_tokens("会" * 100) == 115
