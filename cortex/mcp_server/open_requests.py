"""The requests of one client that have no answer yet. The SDK keeps each of them, in a task of its own, until the
client has taken its answer: a client that takes none would fill the memory."""

from __future__ import annotations

import anyio

from .calls import MAX_CALLS

# Only calls last, and those are counted by `Calls`. When there are twice as many requests, the others wait for nothing
# but the client, which has to read.
MAX_OPEN = 2 * MAX_CALLS
# As many as three calls of the largest kind.
MAX_OPEN_BYTES = 16 * 1024 * 1024


class OpenRequests:
    """Of a client that gives two requests one id, the larger counts until both are answered: no answer tells which of
    them it is for."""

    def __init__(self, most: int = MAX_OPEN, max_bytes: int = MAX_OPEN_BYTES) -> None:
        self._most = most
        self._max_bytes = max_bytes
        self._sizes: dict[int | str, list[int]] = {}
        self._count = self._bytes = 0
        self._ended = anyio.Event()

    async def place(self) -> None:
        """Wait until there is one for a request more."""
        while self._count >= self._most:
            self._ended = anyio.Event()
            await self._ended.wait()

    def begin(self, request_id: int | str, size: int) -> bool:
        """False when those that are open hold so much that there is no room for so many bytes more."""
        if self._bytes + size > self._max_bytes:
            return False
        self._sizes.setdefault(request_id, []).append(size)
        self._count += 1
        self._bytes += size
        return True

    def end(self, request_id: int | str | None) -> None:
        """One request of that id, if there is one, has its answer, or will have none."""
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
