"""A connection of the web server that is not kept for nobody. Loaded late, because it loads the web server."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol


class Connection(H11Protocol):
    """The web server has a clock between two requests, and none before the first or in the middle of one: whoever can
    connect, also without a token, could take all places by saying nothing."""

    waiting_s: float
    """So long for a whole head of a request, and for each next piece of its body."""

    _clock: asyncio.TimerHandle | None = None
    _waits_since = 0.0

    @property
    def is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._start_clock()
        self._make_room()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_answering:
            self._stop_clock()
            if self.cycle.more_body:
                self._start_clock()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # A request that came with the one before is being answered already.
        if not self.is_answering:
            self._stop_clock()
            self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def _start_clock(self) -> None:
        self._waits_since = self.loop.time()
        self._clock = self.loop.call_later(self.waiting_s, self.transport.close)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _make_room(self) -> None:
        """Those that say nothing go, first the one that has done so longest: this one may have something to say."""
        others = [other for other in self.connections if isinstance(other, Connection) and other is not self]
        silent = sorted((other for other in others if not other.is_answering), key=lambda other: other._waits_since)
        most = self.limit_concurrency if self.limit_concurrency is not None else len(self.connections) + 1
        # One that is being closed counts until it is: of many who come in one moment each makes room for all of them.
        for other in silent[: max(0, len(self.connections) - most + 1)]:
            other.transport.close()
