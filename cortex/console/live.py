"""Tells open pages what happens: one stream of events for each tab, fed by one poller that runs only while one is open.

Each event is JSON and never markup. Its id is the number of the audit record, so a page that was away goes on where it
left off. What is not in the audit is told as "changed", and the page asks the owner whether to load it again.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

from cortex.audit import Audit, AuditError
from cortex.energy import on_terms, terms_in
from cortex.text import beginning, visible, whole
from cortex.views import audit_row, level_of
from cortex.workflows import DATABASE

from .door import HEADERS
from .pages import audit_of

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from cortex.audit import Record

    from .desk import Desk
    from .sessions import OwnerSession

POLL_S = 0.05
BEAT_S = 5.0
MAX_STREAMS = 8
MAX_WAITING = 500
"""Events that wait for a slow tab; then it is told to load its page again."""
MAX_CAUGHT_UP = 500
MAX_TEXT = 200
_WATCHED = {
    "energy": "energy.json",
    "killed": "KILLED",
    "layer": "autonomic/layer.json",
    "neurons": "neurons",
    "questions": "questions",
    "workflows": f"../workflows/{DATABASE}-wal",
}


class Stream:
    """The events for one tab."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()
        self._news = asyncio.Event()

    def put(self, event: str) -> None:
        if len(self._waiting) >= MAX_WAITING:
            self._waiting.clear()
            event = event_of("stale", {})
        self._waiting.append(event)
        self._news.set()

    async def take(self) -> str:
        """All that waits, or a beat when nothing comes: a page that hears nothing knows that it is old."""
        if not self._waiting:
            self._news.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), BEAT_S)
        found = "".join(self._waiting) or event_of("beat", {})
        self._waiting.clear()
        return found


class Live:
    """The streams of one console, and their poller."""

    def __init__(self, desk: Desk, *, folders: Callable[[], dict[str, str]] = lambda: _WATCHED) -> None:
        self._desk = desk
        self._folders = folders
        self._streams: set[Stream] = set()
        self._poller: asyncio.Task[None] | None = None
        self._is_closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send, session: OwnerSession) -> None:
        if len(self._streams) >= MAX_STREAMS or self._is_closing:
            await _answer(send, 503, b"There are as many streams as there may be\n")
            return
        headers = [(b"content-type", b"text/event-stream"), *_security()]
        stream = Stream()
        missed = await asyncio.to_thread(self._missed, _last_id(scope))
        self._streams.add(stream)
        if self._poller is None:
            self._poller = asyncio.create_task(self._poll())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": f"retry: 1000\n\n{missed}".encode(), "more_body": True})
            await self._feed(stream, receive, send, session)
        finally:
            self._streams.discard(stream)
            if not self._streams and self._poller is not None:
                self._poller.cancel()
                self._poller = None

    def close(self) -> None:
        """End all streams: a server that is to end would wait for them."""
        self._is_closing = True
        for stream in self._streams:
            stream.put(event_of("closing", {}))

    async def _feed(self, stream: Stream, receive: Receive, send: Send, session: OwnerSession) -> None:
        gone = asyncio.ensure_future(_gone(receive))
        try:
            while not gone.done() and not self._is_closing and self._is_welcome(session):
                taking = asyncio.ensure_future(stream.take())
                await asyncio.wait({gone, taking}, return_when=asyncio.FIRST_COMPLETED)
                if not taking.done():
                    taking.cancel()
                    return
                await send({"type": "http.response.body", "body": taking.result().encode(), "more_body": True})
            with suppress(OSError):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            gone.cancel()

    def _is_welcome(self, session: OwnerSession) -> bool:
        return not self._desk.guards.needs_session or self._desk.sessions.is_open(session)

    def _missed(self, last: int | None) -> str:
        """What the page has missed since that record."""
        if last is None:
            return ""
        try:
            with audit_of(self._desk) as audit:
                records = list(islice(audit.after(last), MAX_CAUGHT_UP + 1))
        except AuditError:
            return ""
        if len(records) > MAX_CAUGHT_UP:
            return event_of("stale", {})
        return "".join(map(record_event, records))

    async def _poll(self) -> None:
        """Look at what has changed, twenty times a second: that is a few system calls while nothing does."""
        watch = Watch(self._desk, self._folders())
        while True:
            try:
                for event in await asyncio.to_thread(watch.news) if watch.has_news() else ():
                    for stream in self._streams:
                        stream.put(event)
            except (OSError, AuditError):
                pass  # looked at again the next time
            await asyncio.sleep(POLL_S)


class Watch:
    """What was seen last of each thing that is watched."""

    def __init__(self, desk: Desk, watched: dict[str, str]) -> None:
        self._desk = desk
        state = desk.settings.home / "state"
        self._latest = str(desk.settings.home / "audit" / "latest")
        self._places = {what: str(state / place) for what, place in watched.items()}
        self._audit = Audit(desk.settings.home / "audit", desk.settings.audit)
        self._tail = self._audit.tail()
        self._stamps = self._look()

    def _look(self) -> dict[str, object]:
        return {"audit": _stamp(self._latest), **{what: _stamp(place) for what, place in self._places.items()}}

    def has_news(self) -> bool:
        return self._look() != self._stamps

    def news(self) -> list[str]:
        before, self._stamps = self._stamps, self._look()
        changed = {what for what, stamp in self._stamps.items() if before.get(what) != stamp}
        events = [record_event(record) for record in self._tail.news()] if "audit" in changed else []
        if "energy" in changed or events:
            events.append(event_of("energy", self._energy()))
        if others := sorted(changed - {"audit", "energy"}):
            events.append(event_of("changed", {"what": others}))
        return events

    def _energy(self) -> dict[str, Any]:
        settings = self._desk.settings
        now = self._desk.now()
        state = settings.home / "state"
        rate = on_terms(settings.energy, terms_in(state)).recharge_per_minute
        return {"level": round(level_of(state, settings.energy, now), 4), "rate": rate}


def record_event(record: Record) -> str:
    """What a page shows of a record."""
    row = audit_row(record)
    facts = {
        name: _short(value) for name, value in asdict(row).items() if value not in (None, "") and value is not False
    }
    return event_of(record.kind, facts, record.seq)


def _short(value: Any) -> Any:
    return visible(" ".join(beginning(whole(value), MAX_TEXT).split())) if isinstance(value, str) else value


def event_of(name: str, data: dict[str, Any], number: int | None = None) -> str:
    id_ = "" if number is None else f"id: {number}\n"
    return f"{id_}event: {name}\ndata: {json.dumps(data)}\n\n"


def _stamp(path: str) -> object:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _last_id(scope: Scope) -> int | None:
    for name, value in scope["headers"]:
        if name == b"last-event-id" and value.isdigit() and len(value) < 19:
            return int(value)
    return None


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _security() -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in HEADERS.items()]


async def _answer(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *_security()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
