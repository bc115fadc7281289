"""Which conversation a request of an MCP client belongs to: the session that the server gave the client.

A module of its own because what a client sends of itself must never choose another client's conversation.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

_SESSION = "mcp-session-id"


class ClientConversations:
    """The names of the conversations of one server's clients."""

    def __init__(self) -> None:
        self._of_the_pipe = f"mcp:{secrets.token_hex(8)}"

    def of(self, protocol_version: str, request: Any) -> str | None:
        """The conversation of a request; `request` is what came over HTTP, or None over a pipe, where there is only one
        client. None for a client of the era without sessions: whatever header it sends, no server gave it that."""
        from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS  # noqa: PLC0415 - it takes a second to load

        if request is None:
            return self._of_the_pipe
        # The SDK has looked it up by now: a request with a session that it did not give out gets no further.
        session = request.headers.get(_SESSION) if protocol_version in HANDSHAKE_PROTOCOL_VERSIONS else None
        # Hashed: to know the id of a session is to speak as its client.
        return None if session is None else f"mcp:{hashlib.sha256(session.encode()).hexdigest()[:16]}"
