"""Discovery: the few tools, of many, that an intent needs."""

from .discovery import Discovery
from .embedder import Embedder, EmbeddingFailed
from .entry import Entry, entry_of
from .tool_index import Match, ToolIndex

__all__ = ["Discovery", "Embedder", "EmbeddingFailed", "Entry", "Match", "ToolIndex", "entry_of"]
