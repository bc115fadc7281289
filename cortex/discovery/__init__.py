"""Discovery: finds the few tools that an intent needs among thousands, by words and, if wanted, by meaning."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .discovery import Discovery, discovery_of, embedder_of
    from .embedder import Embedder, EmbeddingFailed
    from .tool_index import Match, ToolIndex
    from .tool_text import ToolText, text_of_tool
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "discovery": "Discovery discovery_of embedder_of",
            "embedder": "Embedder EmbeddingFailed",
            "tool_index": "Match ToolIndex",
            "tool_text": "ToolText text_of_tool",
        },
    )
