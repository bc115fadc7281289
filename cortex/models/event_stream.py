"""Parse server-sent events of a model endpoint from bytes that may be split anywhere. Pure and bounded."""

from __future__ import annotations


class EventTooLong(ValueError):
    """A single event is longer than a whole reply may be."""


class EventStream:
    """Takes bytes, and returns the data of each event that is complete."""

    def __init__(self, max_event_bytes: int) -> None:
        self._max = max_event_bytes
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Raises EventTooLong."""
        self._rest += chunk
        lines: list[bytearray] = []
        if b"\n" in chunk:  # Otherwise a long line would be scanned again with each of its pieces.
            *lines, self._rest = self._rest.split(b"\n")
        if len(self._rest) > self._max:
            raise EventTooLong(f"an event has more than {self._max} bytes")
        return [event for line in lines if (event := self._line(bytes(line.removesuffix(b"\r")))) is not None]

    def end(self) -> list[bytes]:
        """The last event at the end of the connection: some endpoints leave out the final empty line."""
        return [event for event in (self._line(bytes(self._rest)), self._line(b"")) if event is not None]

    def _line(self, line: bytes) -> bytes | None:
        if not line:
            event, self._data, self._size = b"\n".join(self._data), [], 0
            return event or None
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(line)  # The whole line: endless empty values would make an endless list.
            if self._size > self._max:
                raise EventTooLong(f"an event has more than {self._max} bytes")
        return None
