"""Announces each event once: first to the audit log, which may refuse it, then to a turn's watcher and subscribers."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cortex.contracts import Recorded, weight_of_event

from .metrics import CortexMetrics

if TYPE_CHECKING:
    from cortex.contracts import CortexEvent, Listener

    from .journal import AuditJournal
    from .ports import Trail

log = logging.getLogger("motor_cortex")

MAX_LISTENERS = 32
# A listener that falls this far behind misses events: the host neither waits for it nor keeps everything for it.
MAX_WAITING = 10_000
MAX_WAITING_BYTES = 32 * 1024 * 1024
# An event is weighed up to this, because weighing takes time of the event loop; a heavier one counts as HEAVY_BYTES.
WEIGHED_BYTES = 512 * 1024
HEAVY_BYTES = 8 * 1024 * 1024
CLOSING_S = 2.0


class Spine:
    """One for a cortex. `announce` and `record` may be called from any thread."""

    def __init__(self, audit: Trail, journal: AuditJournal) -> None:
        self._audit = audit
        self.journal = journal
        self.metrics = CortexMetrics()
        self._subscriptions: tuple[_Subscription, ...] = ()
        self._hearers: tuple[Listener, ...] = ()
        self._lock = threading.Lock()

    def announce(self, event: CortexEvent, watch: Callable[[Any], None] | None = None) -> None:
        """Announce the event. Raises AuditError when it cannot be recorded and so must not happen: then neither the
        watcher nor any subscriber gets the event."""
        self.journal.hear(event)
        try:
            self.metrics.hear(event)
        except Exception:  # an outcome of a runtime that is not ours
            log.exception("An event cannot be measured")
        if watch is not None:
            try:
                watch(event)
            except Exception:
                log.exception("The watcher of a turn failed")
        for hear in self._hearers:
            try:
                hear(event)
            except Exception:
                log.exception("An event cannot be heard")
        for subscription in self._subscriptions:
            subscription.put(event)

    def record(self, kind: str, /, **facts: Any) -> object:
        """Write a line of the audit that has no event of its own, and announce it. Raises what the audit raises."""
        written = self._audit.record(kind, **facts)
        for subscription in self._subscriptions:
            subscription.put(Recorded(kind, facts))
        return written

    def listen(self, hear: Listener) -> None:
        """Call this function of the cortex with every event, at once and in the thread that announces it: it takes
        microseconds and never waits."""
        self._hearers += (hear,)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call the listener with every event from now on, in a thread of its own, in order. Returns the function that
        ends the subscription. Raises ValueError when there are 32 listeners already."""
        subscription = _Subscription(listener)
        with self._lock:
            if len(self._subscriptions) >= MAX_LISTENERS:
                raise ValueError(f"there are {MAX_LISTENERS} listeners already: end a subscription first")
            self._subscriptions += (subscription,)
        subscription.start()

        def unsubscribe() -> None:
            with self._lock:
                self._subscriptions = tuple(one for one in self._subscriptions if one is not subscription)
            subscription.end()

        return unsubscribe

    def close(self) -> None:
        """Deliver what waits, for at most two seconds in all, and end every subscription."""
        with self._lock:
            subscriptions, self._subscriptions = self._subscriptions, ()
        for subscription in subscriptions:
            subscription.end()
        give_up = time.monotonic() + CLOSING_S
        for subscription in subscriptions:
            subscription.wait(give_up)


class _Subscription:
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._events: queue.SimpleQueue[tuple[CortexEvent, int] | None] = queue.SimpleQueue()
        self._missed = 0
        self._waiting_bytes = 0
        self._counting = threading.Lock()
        self._thread = threading.Thread(target=self._deliver, name="cortex-listener", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def put(self, event: CortexEvent) -> None:
        """Never waits."""
        weight = weight_of_event(event, WEIGHED_BYTES)
        if weight >= WEIGHED_BYTES:
            weight = HEAVY_BYTES
        with self._counting:
            has_room = self._events.qsize() < MAX_WAITING and self._waiting_bytes + weight <= MAX_WAITING_BYTES
            if has_room:
                self._waiting_bytes += weight
                self._events.put((event, weight))
        if has_room:
            return
        if not self._missed:
            log.warning("A listener is %s events behind and misses what follows", self._events.qsize())
        self._missed += 1

    def end(self) -> None:
        self._events.put(None)

    def wait(self, give_up: float) -> None:
        if self._thread is not threading.current_thread():  # a listener may close the cortex
            self._thread.join(max(0.0, give_up - time.monotonic()))

    def _deliver(self) -> None:
        while (waiting := self._events.get()) is not None:
            event, weight = waiting
            with self._counting:
                self._waiting_bytes -= weight
            try:
                self._listener(event)
            except Exception:
                log.exception("A listener failed with an event of kind %s", event.kind)
            if self._events.empty():
                self._log_missed()
        self._log_missed()

    def _log_missed(self) -> None:
        if self._missed:
            log.warning("A listener has missed %s events", self._missed)
            self._missed = 0
