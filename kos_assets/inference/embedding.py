"""What callers know about an embedder: its identity and four calls.

Here: the types. Not here: models (`providers`), choosing one (`router`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_SHORT = 8


@dataclass(frozen=True)
class ModelIdentity:
    """All that makes two vectors comparable (S9, E3): the weights and the recipe by which text goes in."""

    provider: str
    name: str
    dims: int
    window_tokens: int
    """Tokens that the model sees of a text, special tokens included; the rest of a longer text is not in its vector."""
    query_prefix: str
    document_prefix: str
    weights_sha256: str
    """Of the model file, or the provider's digest; empty where the provider names none."""
    recipe_version: int
    languages: tuple[str, ...] = ()
    """ISO codes that the model was trained for; empty where nobody says. What is not here is ranked by its words."""

    def speaks(self, lang: str) -> bool:
        """Whether a cosine means something for a text in `lang` (`und`, undetermined: it does)."""
        return not self.languages or lang == "und" or lang in self.languages

    @property
    def model_id(self) -> str:
        """Stable and readable: `embedded/all-minilm-l6-v2-int8@8199be6f/r1`. Differs when weights or recipe differ."""
        weights = f"@{self.weights_sha256[:_SHORT]}" if self.weights_sha256 else ""
        recipe = f"r{self.recipe_version}"
        if self.query_prefix or self.document_prefix:
            prefixes = f"{self.query_prefix}\0{self.document_prefix}".encode()
            recipe += "-" + hashlib.sha256(prefixes).hexdigest()[:_SHORT]
        return f"{self.provider}/{self.name}{weights}/{recipe}"


class Embedder(Protocol):
    """Text to vectors, by one model. Safe to use from several threads.

    Raises `ProviderUnavailableError` when the model cannot be reached (work stays pending, E5), `ItemError` when it
    refuses one text, `ConfigError` when the installation or routing is wrong.
    """

    @property
    def identity(self) -> ModelIdentity:
        """May ask the provider once."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of `texts` in order, shape (n, dims), each of length 1. An empty text has a vector too."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query, shape (dims,), of length 1; with the model's query prefix (E3)."""
        ...

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` without special tokens and prefix; additive over lines; an estimate for Ollama."""
        ...

    def truncates(self, text: str) -> bool:
        """Whether a document is longer than the model's window, so that its end is not in its vector (G4)."""
        ...
