"""Finds the tools for an intent: by words, and by meaning with the model that the settings name."""

from __future__ import annotations

import heapq
import importlib.util
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.to_thread

from cortex.home import Home
from cortex.settings import SettingsError

from .embedder import EmbeddingFailed
from .tool_index import Match, ToolIndex
from .tool_text import ToolText, text_of_tool

if TYPE_CHECKING:
    from cortex.settings import DiscoverySettings, Settings
    from sandbox import ToolDeclaration

    from .embedder import Embedder
    from .meanings import Meanings

log = logging.getLogger("motor_cortex")

# For fewer tools, to index and rank them takes less time than to start a thread.
_FEW_TOOLS = 50
# After a failure, no search by meaning for this long: each would wait for the same failure again.
_REST_S = 60.0
# Measured on the tuning part of the corpus. The score by words is squared: a good match settles the order, and a weak
# match says nothing, so that only the meaning counts.
_BY_WORDS = 1.2
_INSTALL = "pip install 'motor-cortex[semantic]'"


def discovery_of(settings: Settings) -> Discovery:
    """The discovery that the settings ask for. The caller closes it (`aclose`). Raises SettingsError."""
    embedder = embedder_of(settings)
    if embedder is None:
        return Discovery(settings.discovery)
    return Discovery(settings.discovery, embedder, vectors=Home(settings.home).cache / "vectors")


def embedder_of(settings: Settings) -> Embedder | None:
    """The embedder that the settings name; None when tools are found by words only. Loads no model yet. Raises
    SettingsError, which says what to do."""
    wanted = settings.discovery
    if wanted.semantic == "off":
        return None
    if not wanted.model:
        what = "the folder of a model" if wanted.semantic == "onnx" else "the endpoint's model for embeddings"
        raise SettingsError(f'discovery.semantic is "{wanted.semantic}", and discovery.model does not name {what}')
    if wanted.semantic == "endpoint":
        _need("numpy")
        from .endpoint_embedder import EndpointEmbedder  # noqa: PLC0415 - heavy

        return EndpointEmbedder(wanted.model, settings.model)
    from .onnx_embedder import OnnxEmbedder, find_model  # noqa: PLC0415 - needed here only

    folder = find_model(wanted.model)
    _need("numpy", "fastembed")
    return OnnxEmbedder(folder)


def _need(*modules: str) -> None:
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise SettingsError(f"discovery.semantic needs {', '.join(missing)}: {_INSTALL}")


class _Tools(NamedTuple):
    version: object
    entries: Sequence[ToolText]
    words: ToolIndex


class Discovery:
    """Keeps the index of the tools that it was last given. Ranks by words and, with an embedder, by meaning, too. When
    the embedder fails, it ranks by words only, and the log says so once."""

    def __init__(
        self,
        settings: DiscoverySettings,
        embedder: Embedder | None = None,
        *,
        vectors: Path | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._embedder = embedder
        self._vectors = vectors
        self._now = now
        self._tools = _Tools(object(), (), ToolIndex([]))
        self._building = anyio.Lock()
        self._meanings: Meanings | None = None
        self._rests_until = -math.inf
        self._has_complained = False

    async def rank(
        self, query: str, declarations: Sequence[ToolDeclaration], version: object, k: int | None = None
    ) -> list[Match]:
        """The best `k` of these tools; without `k`, as many as are lent for an intent. The same `version` as last time
        says that the tools are the same."""
        k = self._settings.tools_per_intent if k is None else k
        tools = await self._tools_of(declarations, version)
        if self._embedder is None or not query.strip() or self._now() < self._rests_until:
            return await _ranked(tools, query, k)
        try:
            nearness = await self._meanings_of(self._embedder).near(query, tools.entries, version)
        except EmbeddingFailed as error:
            self._rests_until = self._now() + _REST_S
            self._complain(error)
            return await _ranked(tools, query, k)
        by_words = {match.name: match.score for match in await _ranked(tools, query, len(tools.entries))}
        return fused([entry.name for entry in tools.entries], nearness, by_words, k)

    async def aclose(self) -> None:
        """Close the embedder, if there is one."""
        if self._embedder is not None:
            await self._embedder.aclose()

    async def _tools_of(self, declarations: Sequence[ToolDeclaration], version: object) -> _Tools:
        if self._tools.version == version:
            return self._tools
        # One caller builds the index and the others wait: built by all at once, it would take each of them longer.
        async with self._building:
            if self._tools.version != version:
                if len(declarations) <= _FEW_TOOLS:
                    self._tools = _indexed(declarations, version)
                else:
                    self._tools = await anyio.to_thread.run_sync(_indexed, tuple(declarations), version)
            return self._tools

    def _meanings_of(self, embedder: Embedder) -> Meanings:
        from .meanings import Meanings  # noqa: PLC0415 - it imports numpy, which is slow to load

        self._meanings = self._meanings or Meanings(embedder, self._vectors)
        return self._meanings

    def _complain(self, error: EmbeddingFailed) -> None:
        level = logging.DEBUG if self._has_complained else logging.WARNING
        log.log(level, "Tools are found by their words only, not by meaning: %s", error)
        self._has_complained = True


async def _ranked(tools: _Tools, query: str, k: int) -> list[Match]:
    if len(tools.entries) <= _FEW_TOOLS:
        return tools.words.rank(query, k)
    return await anyio.to_thread.run_sync(tools.words.rank, query, k)


def _indexed(declarations: Sequence[ToolDeclaration], version: object) -> _Tools:
    entries = [text_of_tool(declaration) for declaration in declarations]
    return _Tools(version, entries, ToolIndex(entries))


def fused(names: Sequence[str], nearness: Sequence[float], by_words: Mapping[str, float], k: int) -> list[Match]:
    """The best `k` names by words and by meaning. `nearness` has a number from -1 to 1 for each name; `by_words` has a
    score from 0 to 1 for the names that share a word with the query."""
    scores = (
        ((max(near, 0.0) + _BY_WORDS * by_words.get(name, 0.0) ** 2) / (1 + _BY_WORDS), name)
        for name, near in zip(names, nearness, strict=True)
    )
    best = heapq.nsmallest(k, scores, key=lambda found: (-found[0], found[1]))
    return [Match(name, score) for score, name in best]
