"""Limit the unanswered requests of one MCP client, in number and in bytes. The SDK keeps each request in a task of its
own until the client has read the answer: a client that reads none would fill the memory."""

from __future__ import annotations

import anyio

from .calls import MAX_CALLS

# Only calls take long, and `Calls` limits those. When there are twice as many requests, the others wait only for the
# client to read its answers.
MAX_OPEN = 2 * MAX_CALLS
# Enough for three calls of the largest size.
MAX_OPEN_BYTES = 16 * 1024 * 1024


class OpenRequests:
    """The open requests of one client. If two have the same id, the larger counts until both are answered: an answer
    does not tell which of them it is for."""

    def __init__(self, most: int = MAX_OPEN, max_bytes: int = MAX_OPEN_BYTES) -> None:
        self._most = most
        self._max_bytes = max_bytes
        self._sizes: dict[int | str, list[int]] = {}
        self._count = self._bytes = 0
        self._ended = anyio.Event()

    async def place(self) -> None:
        """Wait until there is a place for one more request."""
        while self._count >= self._most:
            self._ended = anyio.Event()
            await self._ended.wait()

    def begin(self, request_id: int | str, size: int) -> bool:
        """Add a request of `size` bytes. Returns False, and adds nothing, if the limit of bytes would be exceeded."""
        if self._bytes + size > self._max_bytes:
            return False
        self._sizes.setdefault(request_id, []).append(size)
        self._count += 1
        self._bytes += size
        return True

    def end(self, request_id: int | str | None) -> None:
        """Remove one request of that id, if there is one: it was answered, or will never be."""
        sizes = self._sizes.get(request_id) if request_id is not None else None
        if not sizes or request_id is None:
            return
        size = min(sizes)
        sizes.remove(size)
        if not sizes:
            del self._sizes[request_id]
        self._count -= 1
        self._bytes -= size
        self._ended.set()
