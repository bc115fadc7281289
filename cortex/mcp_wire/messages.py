"""Splits incoming bytes into MCP messages, and refuses messages that are too large or complex. Pure.

The bytes come from an untrusted peer. A message is parsed only when it is known to be small enough: parsing it, and
what the SDK does with it afterwards, blocks the event loop.
"""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple, TypeAlias

from sandbox import JsonLimits, JsonMeter, LineSplitter, TooComplex

# The SDK walks through a message several times, about 4 µs for each object: a tenth of a second at this limit.
MESSAGE_LIMITS = JsonLimits(containers=25_000, values=100_000)
HEAD_BYTES = 512

_ID = re.compile(rb'"id"\s{0,9}:\s{0,9}(-?\d{1,15}|"[^"\\]{0,100}")\s{0,9}[,}]')
_INSIDE = re.compile(rb'"(?:result|error|params)"')
_LAST_ID = re.compile(
    rb'"id"\s{0,9}:\s{0,9}(-?\d{1,15}|"[^"\\]{0,100}")\s{0,9}(?:,\s{0,9}"jsonrpc"\s{0,9}:\s{0,9}"2\.0"\s{0,9})?\}\s{0,9}\Z'
)


Line: TypeAlias = bytes | bytearray


class RefusedMessage(NamedTuple):
    """A message that was not parsed: its beginning, its end, and the reason."""

    head: bytes
    tail: bytes
    reason: str
    """Like "more than 25000 objects and arrays"."""

    @property
    def id(self) -> int | str | None:
        """The id of the request that it is, or that it answers; None if not found. Nested "id" keys do not count."""
        if b'"jsonrpc"' not in self.head + self.tail:
            return None
        found = _ID.search(_INSIDE.split(self.head, maxsplit=1)[0]) or _LAST_ID.search(self.tail)
        if found is None:
            return None
        text = found[1].decode(errors="replace")
        return text[1:-1] if text.startswith('"') else int(text)


def longer_than(max_bytes: int) -> str:
    return f"more than {max_bytes} bytes"


class MessageLines(LineSplitter[Line | RefusedMessage]):
    """Splits chunks into lines. Of a refused line only the beginning and the end are kept, however long it is."""

    def __init__(self, max_bytes: int, limits: JsonLimits = MESSAGE_LIMITS) -> None:
        self._meter = JsonMeter(limits)
        super().__init__(max_bytes)
        # A shorter line cannot exceed the limits, so it is not counted.
        self._uncounted_bytes = min(limits)
        self._unseen_bytes = min(self._uncounted_bytes, max_bytes)

    def end(self) -> Line | RefusedMessage | None:
        """The last line, if it has no line end; None if nothing is left. Call it at the end of the input."""
        return self._taken() if self.size else None

    def _begin(self) -> None:
        super()._begin()
        self._head = self._tail = b""
        self._reason: str | None = None
        self._meter.begin()

    def _ended(self) -> Line | RefusedMessage:
        return super()._ended() if self._reason is None else RefusedMessage(self._head, self._tail, self._reason)

    def _add(self, part: bytes) -> None:
        if self._reason is not None:
            self.size += len(part)
            self._tail = (self._tail + part)[-HEAD_BYTES:]
            return
        is_first_count = self.size <= self._uncounted_bytes
        super()._add(part)
        if self._reason is None and self.size > self._uncounted_bytes:
            self._meter.feed(bytes(self._kept) if is_first_count else part)
            try:
                self._meter.check()
            except TooComplex as error:
                self._refuse(str(error))

    def _refuse(self, reason: str) -> None:
        self._reason = reason
        self._head, self._tail = bytes(self._kept[:HEAD_BYTES]), bytes(self._kept[-HEAD_BYTES:])
        self._kept = b""


# A normal event has one line of data, or a few. Each line is kept as a string of its own, and so is each piece in which
# a line or a message comes.
MAX_EVENT_LINES = 10_000
MAX_PIECES = 100_000


def check_pieces(pieces: int) -> None:
    """Raises TooComplex for a message that comes in too many pieces."""
    if pieces > MAX_PIECES:
        raise TooComplex(f"more than {MAX_PIECES} pieces")


class EventMeter:
    """Counts the JSON in server-sent events as they come. The lines between two empty lines are one event and message.

    A string ends at the latest with its line: JSON allows no line ends in strings, so the parser will end there too.
    """

    def __init__(self, limits: JsonLimits = MESSAGE_LIMITS) -> None:
        self._meter = JsonMeter(limits)
        self._lines = self._pieces = 0
        self._is_empty_line = True
        self._after_return = False

    def feed(self, chunk: bytes) -> None:
        """Raises TooComplex."""
        self._pieces += 1
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r")
        first, *others = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._count(first)
        for line in others:
            self._end_line()
            self._count(line)
        self._check()

    def _check(self) -> None:
        if self._lines > MAX_EVENT_LINES:
            raise TooComplex(f"more than {MAX_EVENT_LINES} lines")
        check_pieces(self._pieces)
        self._meter.check()

    def _count(self, piece: bytes) -> None:
        if piece:
            self._is_empty_line = False
            self._meter.feed(piece)

    def _end_line(self) -> None:
        if self._is_empty_line:
            self._check()  # before the counts are reset: an event may begin and end in one chunk
            self._lines = self._pieces = 0
            self._meter.begin()
        else:
            self._lines += 1
            self._meter.end_string()
        self._is_empty_line = True


# Limit of a field other than data: the kind of the event, its id, the wait before the next connection.
MAX_FIELD_BYTES = 1_024
# Milliseconds, at most three hours. A number of hundreds of digits would end the SDK's connection with an error.
_WAIT = re.compile(rb"[0-9]{1,7}")


class Event(NamedTuple):
    """The fields of one server-sent event that matter here. Comments and other fields are dropped."""

    data: Line
    """Empty also for an event of a kind that MCP does not have."""
    id: bytes | None
    retry: bytes | None


class EventReader(EventMeter):
    """Splits chunks into server-sent events of at most `max_bytes` each, counted as they come."""

    def __init__(self, max_bytes: int, limits: JsonLimits = MESSAGE_LIMITS) -> None:
        super().__init__(limits)
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._ended: deque[Event] = deque()
        self._begin_event()

    def _begin_event(self) -> None:
        self._size = 0
        self._data: list[Line] = []
        self._fields: dict[bytes, bytes] = {}

    def read(self, chunk: bytes) -> deque[Event]:
        """The events that end in the chunk. Raises TooComplex."""
        self.feed(chunk)
        ended, self._ended = self._ended, deque()
        return ended

    def _count(self, piece: bytes) -> None:
        super()._count(piece)
        self._size += len(piece)
        if self._size > self._max_bytes:
            raise TooComplex(longer_than(self._max_bytes))
        self._line += piece

    def _end_line(self) -> None:
        if self._is_empty_line:
            self._end_event()
        else:
            line, self._line = self._line, bytearray()
            self._take(line)
        super()._end_line()

    def _take(self, line: bytearray) -> None:
        at = line.find(b":") if b":" in line else len(line)
        name = bytes(line[:at]) if at <= MAX_FIELD_BYTES else b""
        # Deleted in place: a copy of megabytes would double the memory.
        del line[: at + 1]
        if line.startswith(b" "):
            del line[:1]
        if name == b"data":
            self._data.append(line)
        elif name in (b"event", b"id", b"retry"):
            if len(line) > MAX_FIELD_BYTES:
                raise TooComplex(f"{longer_than(MAX_FIELD_BYTES)} in a field that is not data")
            self._fields[name] = bytes(line)

    def _end_event(self) -> None:
        is_message = self._fields.get(b"event", b"") in (b"", b"message")
        data = (self._data[0] if len(self._data) == 1 else b"\n".join(self._data)) if is_message else b""
        retry = self._fields.get(b"retry", b"")
        self._pass(Event(data, self._fields.get(b"id"), retry if _WAIT.fullmatch(retry) else None))
        self._begin_event()

    def _pass(self, event: Event) -> None:
        """Merge consecutive events without data into one, and drop empty events: each costs the SDK ten times what it
        costs here."""
        if not event.data and self._ended and not self._ended[-1].data:
            before = self._ended.pop()
            event = Event(b"", before.id if event.id is None else event.id, event.retry or before.retry)
        if event.data or event.id is not None or event.retry is not None:
            self._ended.append(event)
