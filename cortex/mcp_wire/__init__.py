"""Split and limit the MCP messages that come over a wire, for the client and for the server."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .messages import (
        HEAD_BYTES,
        MESSAGE_LIMITS,
        Event,
        EventReader,
        Line,
        MessageLines,
        RefusedMessage,
        check_pieces,
        longer_than,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "messages": (
                "Event EventReader HEAD_BYTES Line MESSAGE_LIMITS MessageLines RefusedMessage check_pieces longer_than"
            ),
        },
    )
