"""Discovery: the few tools, of many, that an intent needs."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .choice import discovery_of as discovery_of, embedder_of as embedder_of
    from .discovery import Discovery as Discovery
    from .embedder import Embedder as Embedder, EmbeddingFailed as EmbeddingFailed
    from .entry import Entry as Entry, entry_of as entry_of
    from .tool_index import Match as Match, ToolIndex as ToolIndex
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "choice": ["discovery_of", "embedder_of"],
            "discovery": ["Discovery"],
            "embedder": ["Embedder", "EmbeddingFailed"],
            "entry": ["Entry", "entry_of"],
            "tool_index": ["Match", "ToolIndex"],
        },
    )
