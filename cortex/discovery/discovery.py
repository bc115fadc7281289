"""Finds the tools for an intent: keeps the index of the tools that it was last given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from .entry import entry_of
from .tool_index import Match, ToolIndex

if TYPE_CHECKING:
    from sandbox import ToolDeclaration

    from ..sections import DiscoverySettings
    from .embedder import Embedder

# Fewer are indexed faster than a thread is asked.
_FEW_TOOLS = 50
_NOTHING_YET = object()


class Discovery:
    def __init__(
        self, settings: DiscoverySettings, embedder: Embedder | None = None, *, vectors: Path | None = None
    ) -> None:
        self._settings = settings
        self._embedder = embedder
        self._vectors = vectors
        self._version: object = _NOTHING_YET
        self._index = ToolIndex([])
        self._building = anyio.Lock()

    async def rank(self, query: str, declarations: Sequence[ToolDeclaration], version: object, k: int) -> list[Match]:
        """The best `k` of these tools. The same `version` says that they are the same as last time."""
        index = await self._index_of(declarations, version)
        return index.rank(query, k)

    async def _index_of(self, declarations: Sequence[ToolDeclaration], version: object) -> ToolIndex:
        if self._version == version:
            return self._index
        # One builds and the others wait: all at once would each take the time of all.
        async with self._building:
            if self._version != version:
                if len(declarations) <= _FEW_TOOLS:
                    index = _index(declarations)
                else:
                    index = await anyio.to_thread.run_sync(_index, tuple(declarations))
                self._index, self._version = index, version
            return self._index


def _index(declarations: Sequence[ToolDeclaration]) -> ToolIndex:
    return ToolIndex([entry_of(declaration) for declaration in declarations])
