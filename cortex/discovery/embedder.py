"""The interface (port) of a model that turns texts into vectors, so that discovery can rank tools by meaning.

A module of its own because the embedders and `meanings` import it, and discovery imports them late.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class EmbeddingFailed(Exception):
    """The embedder has no vectors for these texts now. The message says why."""


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """A name that changes when the vectors of the model change. Vectors on disk are stored under it."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, all of one length. Raises EmbeddingFailed."""
        ...

    async def aclose(self) -> None:
        """Close connections and free memory. The embedder is not used after that."""
        ...
