"""Computes how similar each tool is to a query by meaning. Imports numpy, so it is imported late."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import anyio.to_thread
import numpy as np

from .embedder import EmbeddingFailed
from .vector_file import MAX_DIMENSION, VectorFile, key_of

if TYPE_CHECKING:
    from .embedder import Embedder
    from .tool_text import ToolText

Matrix = np.ndarray[Any, np.dtype[np.float32]]

# At most this many tools are ranked by meaning; the others are found by their words only.
MAX_TOOLS = 5_000
MAX_TEXT_CHARACTERS = 1_000
# Numbers in all vectors together, which are kept twice: 64 MB. Enough for 5,000 tools with vectors of 384 numbers, or
# 1,300 tools with vectors of 2,048.
MAX_NUMBERS = 8_000_000
# Texts in one call of the model. Between two calls the work can be cancelled, and what is done is kept.
_TEXTS_AT_ONCE = 100
_QUERY_S, _TOOLS_S = 15.0, 120.0

_OTHER_LENGTH = "the model gives vectors of another length than before"
_BETWEEN_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[._\W]+")


def texts_of(entry: ToolText) -> list[str]:
    """The texts of a tool: its name, its name without the server, and its description. The nearest one counts.

    One text with all of them is further from a short request than the best of them alone.
    """
    name = _BETWEEN_WORDS.sub(" ", entry.name).strip()
    alone = _BETWEEN_WORDS.sub(" ", entry.name.partition(".")[2]).strip()
    texts = (text.strip()[:MAX_TEXT_CHARACTERS] for text in (name, alone, entry.description))
    return list(dict.fromkeys(text for text in texts if text)) or [entry.name or "?"]


class _Learned(NamedTuple):
    version: object
    tools: Matrix
    """A row for each text of each tool."""
    first: list[int]
    """For each tool, the row of its first text."""


class Meanings:
    """Keeps the vectors of the tools that it was last given in memory, and those of all tools it has seen on disk."""

    def __init__(self, embedder: Embedder, vectors: Path | None) -> None:
        self._embedder = embedder
        self._file = None if vectors is None else VectorFile(vectors, embedder.name)
        self._known: dict[str, array[float]] = {}
        self._learned = _Learned(object(), _matrix([]), [])
        self._learning = anyio.Lock()

    async def near(self, query: str, entries: Sequence[ToolText], version: object) -> list[float]:
        """How near each entry is to the query, from -1 to 1. Raises EmbeddingFailed."""
        _, tools, first = await self._learn(entries[:MAX_TOOLS], version)
        if not first:
            return [0.0] * len(entries)
        [asked] = await self._vectors([query[:MAX_TEXT_CHARACTERS]], _QUERY_S)
        if len(asked) != tools.shape[1]:
            raise EmbeddingFailed(_OTHER_LENGTH)
        nearness = np.maximum.reduceat(tools @ np.asarray(asked, dtype=np.float32), first)
        return [*map(float, nearness), *[0.0] * (len(entries) - len(first))]

    async def _learn(self, entries: Sequence[ToolText], version: object) -> _Learned:
        if self._learned.version == version:
            return self._learned
        async with self._learning:
            if self._learned.version != version:
                texts = [texts_of(entry) for entry in entries]
                rows = [key_of(text) for of_tool in texts for text in of_tool]
                await self._know({key_of(text): text for of_tool in texts for text in of_tool})
                first = [0, *accumulate(map(len, texts))][:-1]
                self._learned = _Learned(version, _matrix([self._known[key] for key in rows]), first)
            return self._learned

    async def _know(self, wanted: Mapping[str, str]) -> None:
        stored: dict[str, array[float]] = {}
        if self._file is not None and not wanted.keys() <= self._known.keys():
            stored = await anyio.to_thread.run_sync(self._file.load)
        known = self._known = {key: vector for key, vector in (stored | self._known).items() if key in wanted}
        missing = {key: text for key, text in wanted.items() if key not in known}
        await self._make(missing)
        if missing and self._file is not None:
            # The present tools first: when there is no room for all, older vectors are left out.
            await anyio.to_thread.run_sync(self._file.save, known | stored)

    async def _make(self, missing: Mapping[str, str]) -> None:
        keys = list(missing)
        for begin in range(0, len(keys), _TEXTS_AT_ONCE):
            some = keys[begin : begin + _TEXTS_AT_ONCE]
            vectors = await self._vectors([missing[key] for key in some], _TOOLS_S)
            size, count = len(vectors[0]), len(self._known) + len(keys) - begin
            if size * count > MAX_NUMBERS:
                raise EmbeddingFailed(
                    f"{count} vectors of {size} numbers are more than the limit of {MAX_NUMBERS} numbers"
                )
            self._known.update(zip(some, vectors, strict=True))

    async def _vectors(self, texts: Sequence[str], limit_s: float) -> list[array[float]]:
        with anyio.move_on_after(limit_s):
            vectors = await self._embedder.embed(texts)
            return _checked(vectors, len(texts))
        raise EmbeddingFailed(f"no vectors within {limit_s:g} s")


def _checked(vectors: Sequence[Iterable[float]], count: int) -> list[array[float]]:
    """The vectors, scaled to length 1, so that their products are cosines. An endpoint may send anything."""
    try:
        found = [array("f", vector) for vector in vectors]
    except (TypeError, OverflowError):
        raise EmbeddingFailed("the vectors are not lists of numbers") from None
    if len(found) != count or len({len(vector) for vector in found}) != 1 or not 0 < len(found[0]) <= MAX_DIMENSION:
        raise EmbeddingFailed(f"the vectors differ in length, or there are not {count} of them")
    matrix = np.asarray(found, dtype=np.float32)
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
    if not all(map(math.isfinite, lengths)):
        raise EmbeddingFailed("a vector holds NaN or infinity")
    matrix = matrix / np.maximum(lengths, 1e-12)[:, None]
    return [array("f", row.astype(np.float32).tobytes()) for row in matrix]


def _matrix(vectors: Sequence[array[float]]) -> Matrix:
    if len({len(vector) for vector in vectors}) > 1:
        raise EmbeddingFailed(_OTHER_LENGTH)
    return np.asarray(vectors, dtype=np.float32) if vectors else np.zeros((0, 0), dtype=np.float32)
