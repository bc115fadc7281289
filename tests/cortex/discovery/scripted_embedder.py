"""An embedder for tests: a direction for each word that it knows, and it remembers what it was asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import anyio

from cortex.discovery import EmbeddingFailed


class ScriptedEmbedder:
    """Texts that have words of the same meaning are near each other. `fails` says why it gives no vectors, if so."""

    def __init__(self, meanings: Mapping[str, int], *, name: str = "scripted", fails: str = "") -> None:
        self.name = name
        self.meanings = meanings
        self.fails = fails
        self.answer: Any = None
        """Given instead of vectors, if set."""
        self.asked: list[str] = []
        self.is_closed = False

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        # As a real one does: others come in between.
        await anyio.sleep(0)
        if self.fails:
            raise EmbeddingFailed(self.fails)
        return self.answer if self.answer is not None else [self._vector(text) for text in texts]

    async def aclose(self) -> None:
        self.is_closed = True

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * (1 + max(self.meanings.values()))
        for word in text.lower().split():
            if word in self.meanings:
                vector[self.meanings[word]] += 3.0
        return vector
