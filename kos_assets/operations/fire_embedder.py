"""An embedder for the fire commands: no model, the same vectors in every process, a geometry that can be stated.

Here: texts under one first line lie near each other (cosine distance below 0.02), all others far apart (a direction of
their own in 128 dimensions). Not here: models (inference); no vector of this embedder is ever kept for a user.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kos_assets.inference.embedding import ModelIdentity

DIMENSIONS: Final = 128
_WOBBLE: Final = 0.1


class FireEmbedder:
    """An `Embedder` whose vector follows from the text's first line, and a little from the rest."""

    @property
    def identity(self) -> ModelIdentity:
        """Its own: these vectors are comparable with no model's."""
        return ModelIdentity("fire", "first-line", DIMENSIONS, 256, "", "", "", 1)

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of length 1, shape (n, 128)."""
        return np.asarray([self.embed_query(text) for text in texts], dtype=np.float32).reshape(len(texts), DIMENSIONS)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """One vector, shape (128,)."""
        vector = _direction(text.split("\n", 1)[0]) + _WOBBLE * _direction(text)
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        """Words."""
        return len(text.split())

    def truncates(self, text: str) -> bool:  # noqa: ARG002 - the protocol's signature
        """It has no window."""
        return False


def _direction(text: str) -> NDArray[np.float64]:
    """A unit vector that hangs on the text alone."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    vector = np.random.default_rng(seed).standard_normal(DIMENSIONS)
    return np.asarray(vector / np.linalg.norm(vector))
