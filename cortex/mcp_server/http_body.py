"""Read the body of an HTTP request from an MCP client, and check its size before anything parses it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cortex.mcp_wire import HEAD_BYTES, MESSAGE_LIMITS, RefusedMessage, longer_than
from sandbox import JsonMeter, TooComplex

from .messages import message_of

if TYPE_CHECKING:
    from .http_sessions import Message, Receive


class Bodies:
    """The bodies of all requests that are being answered. Each is kept in memory until its request is answered, so all
    together have a limit, too."""

    def __init__(self, max_bytes: int, max_all_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._left = max_all_bytes

    @contextmanager
    def one(self) -> Iterator[Body]:
        body = Body(self._max_bytes, self._take)
        try:
            yield body
        finally:
            self._left += body.size

    def _take(self, size: int) -> bool:
        if size > self._left:
            return False
        self._left -= size
        return True


class NoRoom(Exception):
    """The bodies of other requests take too much memory. The client can retry this request."""


class Gone(Exception):
    """The client disconnected before its request was complete."""


class Given:
    """A body that has been read. The app calls this as its `receive`, and gets the whole body first, then the rest."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    @property
    def refused(self) -> RefusedMessage | None:
        """Why the body is JSON but no message that may be passed on, or None. To clients of the handshake era the SDK
        would answer with pydantic's error, which quotes the whole body."""
        try:
            found = message_of(self._body or b"")
        except ValueError:
            return None  # not JSON: the SDK answers with a short error
        return found if isinstance(found, RefusedMessage) else None

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}


class Body:
    def __init__(self, max_bytes: int, take: Callable[[int], bool]) -> None:
        self._max_bytes = max_bytes
        self._take = take
        self.size = 0

    async def read(self, receive: Receive) -> Given | RefusedMessage:
        """The whole body, or why it is refused. A refusal comes only after the whole body was received: a client that
        is still sending would not read it. Raises NoRoom and Gone."""
        kept, head = bytearray(), b""
        meter = JsonMeter(MESSAGE_LIMITS)
        reason: str | None = None
        size, more = 0, True
        while more and size <= 2 * self._max_bytes:
            message = await receive()
            if message["type"] != "http.request":
                raise Gone
            piece, more = message.get("body", b""), message.get("more_body", False)
            size += len(piece)
            kept += piece
            if reason is None:
                self._charge(len(piece))
                meter.feed(piece)
                reason = longer_than(self._max_bytes) if size > self._max_bytes else _too_complex(meter)
            if reason is not None:
                head = head or bytes(kept[:HEAD_BYTES])
                del kept[:-HEAD_BYTES]
        return Given(bytes(kept), receive) if reason is None else RefusedMessage(head, bytes(kept), reason)

    def _charge(self, size: int) -> None:
        if not self._take(size):
            raise NoRoom
        self.size += size


def _too_complex(meter: JsonMeter) -> str | None:
    try:
        meter.check()
    except TooComplex as error:
        return str(error)
    return None
