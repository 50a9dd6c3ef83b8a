"""From a routing to the object that does the task; one per routing and process, so that a model is loaded once.

Here: the choice. Not here: reading the file (`routing`), models (`providers`).
"""

from __future__ import annotations

import threading

from kos_assets.inference.embedding import Embedder
from kos_assets.inference.routing import Route, Routing, load_routing

__all__ = ["embedder", "load_routing"]

_embedders: dict[Route, Embedder] = {}
_lock = threading.Lock()


def embedder(routing: Routing) -> Embedder:
    """The embedder of `routing` (E3), always the same object for the same route in one process.

    Costs nothing: the model loads, or the server is asked, at the first use.
    """
    with _lock:
        if routing.embed not in _embedders:
            _embedders[routing.embed] = _build(routing.embed)
        return _embedders[routing.embed]


def _build(route: Route) -> Embedder:
    if route.provider == "ollama":
        from kos_assets.inference.providers.ollama import OllamaEmbedder

        return OllamaEmbedder.from_route(route)
    from kos_assets.inference.providers.embedded import EmbeddedEmbedder

    return EmbeddedEmbedder()
