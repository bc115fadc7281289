"""What discovery needs to rank by meaning: something that turns texts into directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class EmbeddingFailed(Exception):
    """There are no vectors for these texts now. The message says why."""


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Which model, in words that change when its vectors do: those on disk are kept under it."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector for each text, all of one length. Raises EmbeddingFailed."""
        ...

    async def aclose(self) -> None:
        """Let go of what it holds. It is not used after that."""
        ...
