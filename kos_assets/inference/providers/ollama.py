"""Embeddings from an Ollama server, through its official client.

Here: the recipes of known model families, batches, and the mapping of the server's errors to ours (E5). Not here:
routing, starting a server, pulling a model.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import regex  # type: ignore[import-untyped]

from kos_assets.errors import ConfigError, ItemError, ProviderUnavailableError
from kos_assets.inference.embedding import ModelIdentity
from kos_assets.inference.routing import Route

if TYPE_CHECKING:
    import numpy as np
    import ollama
    from numpy.typing import NDArray

RECIPE_VERSION: Final = 1
DEFAULT_HOST: Final = "http://127.0.0.1:11434"
DEFAULT_TIMEOUT_S: Final = 60.0
DEFAULT_BATCH: Final = 32

_NOT_FOUND: Final = 404
_TOO_MANY: Final = 429
_SERVER_ERROR: Final = 500
_MATRIX: Final = 2
# Estimate of tokens: English prose has 3.9 characters a token, code 2.2, Japanese 1.0; so 15 % on top.
_CHARS_PER_TOKEN: Final = 3.5
_MARGIN: Final = 1.15
_CJK: Final = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]")


@dataclass(frozen=True)
class Recipe:
    """How a family of models wants its text, from the models' cards. Ollama adds no prefix by itself."""

    query_prefix: str = ""
    document_prefix: str = ""
    window_tokens: int = 512


# Looked for in the model's name in this order; "e5" is a short name, so it comes late and needs a border.
_FAMILIES: Final = (
    ("nomic-embed-text", Recipe("search_query: ", "search_document: ", 2048)),
    ("embeddinggemma", Recipe("task: search result | query: ", "title: none | text: ", 2048)),
    (
        "qwen3-embedding",
        Recipe(
            "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:", "", 4096
        ),
    ),
    ("mxbai-embed", Recipe("Represent this sentence for searching relevant passages: ", "", 512)),
    ("e5", Recipe("query: ", "passage: ", 512)),
)


def recipe_for(model: str) -> Recipe:
    """The recipe of `model`'s family by its name; none for a family that is not known."""
    name = model.casefold()
    for family, recipe in _FAMILIES:
        if regex.search(rf"(?<![a-z0-9]){regex.escape(family)}(?![0-9])", name):
            return recipe
    return Recipe()


def estimated_tokens(text: str) -> int:
    """Tokens of `text`, on the high side, for a server that has no tokenizer to ask."""
    dense = 0 if text.isascii() else len(_CJK.findall(text))
    return math.ceil((dense + (len(text) - dense) / _CHARS_PER_TOKEN) * _MARGIN)


class OllamaEmbedder:
    """One model of one server. Asks the server at the first use; safe from several threads."""

    def __init__(
        self,
        model: str,
        *,
        host: str = DEFAULT_HOST,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        batch: int = DEFAULT_BATCH,
        recipe: Recipe | None = None,
        dimensions: int | None = None,
    ) -> None:
        self._model = model
        self._host = host
        self._timeout_s = timeout_s
        self._batch = batch
        self._recipe = recipe or recipe_for(model)
        self._dimensions = dimensions

    @classmethod
    def from_route(cls, route: Route) -> OllamaEmbedder:
        """The embedder that a checked route describes."""
        known = recipe_for(route.option("model"))
        chosen = {key: route.option(key) for key in ("query_prefix", "document_prefix", "window_tokens")}
        recipe = Recipe(**{key: getattr(known, key) if value is None else value for key, value in chosen.items()})
        return cls(
            route.option("model"),
            host=route.option("host") or DEFAULT_HOST,
            timeout_s=route.option("timeout_s") or DEFAULT_TIMEOUT_S,
            batch=route.option("batch") or DEFAULT_BATCH,
            recipe=recipe,
            dimensions=route.option("dimensions"),
        )

    @cached_property
    def _client(self) -> ollama.Client:
        import ollama

        # No proxy of the environment: notes go to the host that the routing names and nowhere else (E8).
        client = ollama.Client(host=self._host, timeout=self._timeout_s, trust_env=False)
        weakref.finalize(self, client.close)  # kept-alive connections end with the embedder, or with the process
        return client

    @cached_property
    def identity(self) -> ModelIdentity:
        """Asks the server for the model's digest and, by embedding a word, for its dimensions."""
        dims = int(self._vectors(["dimensions"]).shape[1])
        name = self._model if self._dimensions is None else f"{self._model}-{self._dimensions}d"
        return ModelIdentity(
            provider="ollama",
            name=name,
            dims=dims,
            window_tokens=self._recipe.window_tokens,
            query_prefix=self._recipe.query_prefix,
            document_prefix=self._recipe.document_prefix,
            weights_sha256=self._digest(),
            recipe_version=RECIPE_VERSION,
        )

    def _digest(self) -> str:
        """The server's digest of the model, so that a newly pulled version is another model."""
        wanted = self._model if ":" in self._model else f"{self._model}:latest"
        listed = self._asked(self._client.list)
        digests = [entry.digest for entry in listed.models if entry.model == wanted]
        return (digests[0] or "").removeprefix("sha256:") if digests else ""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n, dims), float32, each row of length 1; batches of 32 by default."""
        import numpy as np

        inputs = [self._recipe.document_prefix + (text or " ") for text in texts]
        parts = [self._batch_vectors(inputs[at : at + self._batch], at) for at in range(0, len(inputs), self._batch)]
        return np.concatenate(parts) if parts else np.empty((0, self.identity.dims), dtype=np.float32)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Shape (dims,), float32, of length 1."""
        vector: NDArray[np.float32] = self._vectors([self._recipe.query_prefix + (text or " ")])[0]
        return vector

    def count_tokens(self, text: str) -> int:
        """An estimate that errs on the high side: Ollama has no tokenizer to ask."""
        return estimated_tokens(text)

    def truncates(self, text: str) -> bool:
        """By the estimate."""
        return self.count_tokens(self._recipe.document_prefix + text) > self._recipe.window_tokens

    def _batch_vectors(self, inputs: list[str], offset: int) -> NDArray[np.float32]:
        """A batch; when the server refuses it, text by text, so that the error names the one that is refused."""
        import numpy as np

        try:
            return self._vectors(inputs)
        except ItemError:
            if len(inputs) == 1:
                raise
        rows = []
        for number, text in enumerate(inputs):
            try:
                rows.append(self._vectors([text]))
            except ItemError as error:
                raise ItemError(f"Text {offset + number}: {error.what}", why=error.why, fix=error.fix) from error
        return np.concatenate(rows)

    def _vectors(self, inputs: list[str]) -> NDArray[np.float32]:
        import numpy as np

        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in inputs]
        answer = self._asked(
            lambda: self._client.embed(
                model=self._model,
                input=clean,
                truncate=True,
                dimensions=self._dimensions,
                options={"num_ctx": self._recipe.window_tokens},
            )
        )
        vectors = np.array(answer.embeddings, dtype=np.float32)
        if vectors.ndim != _MATRIX or len(vectors) != len(inputs) or not np.isfinite(vectors).all():
            raise ItemError(
                f"Ollama's model {self._model} gave no usable vectors.",
                why=f"{len(inputs)} texts were sent, {len(answer.embeddings)} vectors came back.",
                fix=f"Check that {self._model} is an embedding model.",
            )
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: NDArray[np.float32] = (vectors / np.maximum(norms, 1e-12)).astype(np.float32)
        return unit

    def _asked(self, call: Any) -> Any:
        """`call()`, with the client's errors as ours."""
        import httpx
        import ollama

        try:
            return call()
        except ollama.ResponseError as error:
            raise self._refusal(error) from error
        except (ConnectionError, httpx.HTTPError) as error:
            raise ProviderUnavailableError(
                f"Ollama at {self._host} does not answer.",
                why=str(error) or type(error).__name__,
                fix="Start it (ollama serve), or correct host in inference.toml.",
            ) from error
        except ValueError as error:  # not JSON, or JSON of another shape: some other server, or one that is starting
            raise ProviderUnavailableError(f"{self._host} does not answer as Ollama does.", why=str(error)) from error

    def _refusal(self, error: ollama.ResponseError) -> ConfigError | ItemError | ProviderUnavailableError:
        said = str(error.error)
        if error.status_code == _NOT_FOUND:
            return ConfigError(
                f"Ollama at {self._host} has no model {self._model}.", why=said, fix=f"ollama pull {self._model}"
            )
        unavailable = error.status_code >= _SERVER_ERROR or error.status_code == _TOO_MANY
        if unavailable and "too large to process" not in said:
            return ProviderUnavailableError(
                f"Ollama at {self._host} answers {error.status_code}.", why=said, retry_after_s=_retry_after(error)
            )
        return ItemError(f"Ollama's model {self._model} refused a text ({error.status_code}).", why=said)


def _retry_after(error: ollama.ResponseError) -> float | None:
    """Seconds of the answer's Retry-After header, where the client's error still knows the answer."""
    answer = getattr(error.__context__, "response", None)
    value = answer.headers.get("retry-after", "") if answer is not None else ""
    return float(value) if value.isdecimal() else None
