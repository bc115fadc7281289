"""Discovery: the few tools, of many, that an intent needs."""

from .choice import discovery_of, embedder_of
from .discovery import Discovery
from .embedder import Embedder, EmbeddingFailed
from .entry import Entry, entry_of
from .tool_index import Match, ToolIndex

__all__ = [
    "Discovery",
    "Embedder",
    "EmbeddingFailed",
    "Entry",
    "Match",
    "ToolIndex",
    "discovery_of",
    "embedder_of",
    "entry_of",
]
