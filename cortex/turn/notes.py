"""Notes for the model: what it should hear once and did not ask for, such as a habit. Each goes with the next answer of
any kind, of one process.

What there is to tell is looked for in the background, so that an answer without a note waits for no disk. An answer
with one waits for a lock and a write: of two processes, only one may tell it.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread

if TYPE_CHECKING:
    from cortex.redaction import Redactor

log = logging.getLogger("motor_cortex")

LOOK_S = 2.0
"""How often the sources are asked whether another process has changed something."""
AGAIN_S = 10.0
"""A source that changes all the time is read only this often: reading may mean hundreds of documents."""
FIRST_LOOK_S = 0.25
"""The first answers of a process wait at most this long for its first look: a program that makes one call a day is gone
before the second one."""
CLAIM_S = 2.0
CLOSING_S = 2.0


@dataclass(frozen=True, slots=True)
class Due:
    """Something to tell."""

    key: str
    text: str


class NoteSource(Protocol):
    """Where notes come from. All methods but `look` are called in a thread, and may block for a lock and the disk; what
    they raise is logged."""

    def stamp(self) -> object:
        """A cheap value that changes once there may be something new to tell."""
        ...

    async def look(self) -> Sequence[Due]:
        """What no process has told or is telling."""
        ...

    def claim(self, key: str) -> bool:
        """Reserve it for the caller, durably. False when there is nothing to tell any more. A claim of a process that
        dies ends by itself."""
        ...

    def told(self, key: str) -> None: ...

    def given_back(self, key: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Note:
    """A note that this process has claimed, to be settled by `Notes.settle`."""

    text: str
    key: str
    source: NoteSource


@dataclass(slots=True)
class _Looked:
    """What was last found in a source."""

    stamp: object = None
    has_looked: bool = False
    again_at: float = 0.0
    due: deque[Due] = field(default_factory=deque)


class Notes:
    """One for all turns of a process. `run` looks for notes, in a task of its own, while the cortex is open."""

    def __init__(self, sources: Sequence[NoteSource]) -> None:
        self._sources = [(source, _Looked()) for source in sources]
        self._open: set[tuple[int, str]] = set()
        """What this process is telling."""
        self._given: list[Note] = []
        """What it has told, and no turn has settled yet."""
        self._settled: deque[tuple[Note, bool]] = deque()
        self._first = anyio.Event()
        self._more = anyio.Event()
        self._is_running = self._is_news = False

    def news(self) -> None:
        """There is something new to tell. Returns at once."""
        self._is_news = True
        self._more.set()

    async def take(self) -> Note | None:
        """Claim the next note for an answer; None if there is none, which costs nothing. Raises nothing but a
        cancellation."""
        if self._is_running and not self._first.is_set():
            with anyio.move_on_after(FIRST_LOOK_S):
                await self._first.wait()
        for source, looked in self._sources:
            while looked.due:
                due = looked.due.popleft()
                if await self._claimed(source, due.key):
                    note = Note(due.text, due.key, source)
                    self._given.append(note)
                    return note
        return None

    def settle(self, note: Note, *, arrived: bool) -> None:
        """Say whether the note has reached the model; one that has not is told with another answer. Written to disk
        later. Returns at once."""
        if note in self._given:
            self._given.remove(note)
            self._settled.append((note, arrived))
            self._more.set()

    async def run(self, *, task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Look for notes until cancelled. No failure ends it."""
        self._is_running = True
        task_status.started()
        try:
            while True:
                is_news, self._is_news = self._is_news, False
                await self._write_settled()
                for source, looked in self._sources:
                    await self._look(source, looked, is_news)
                self._first.set()
                with anyio.move_on_after(LOOK_S):
                    await self._more.wait()
                self._more = anyio.Event()
        finally:
            self._is_running = False
            for note in tuple(self._given):  # of turns that were never left
                self.settle(note, arrived=True)
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSING_S):
                await self._write_settled()

    async def _look(self, source: NoteSource, looked: _Looked, is_news: bool) -> None:
        now = anyio.current_time()
        try:
            stamp = await anyio.to_thread.run_sync(source.stamp)
            if looked.has_looked and (stamp == looked.stamp or (now < looked.again_at and not is_news)):
                return
            # Set before the look: a source that cannot be read is not read again and again.
            looked.stamp, looked.has_looked, looked.again_at = stamp, True, now + AGAIN_S
            due = await source.look()
            looked.due = deque(one for one in due if (id(source), one.key) not in self._open)
        except Exception as error:  # noqa: BLE001 - whatever is wrong there, the agent goes on
            log.warning("Cannot look for notes: %s", error)

    async def _claimed(self, source: NoteSource, key: str) -> bool:
        self._open.add((id(source), key))
        claimed = False
        try:
            # Shielded: a claim whose caller is cancelled half way would stand in the way until it ends by itself.
            with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLAIM_S):
                claimed = await anyio.to_thread.run_sync(source.claim, key, abandon_on_cancel=True)
        except Exception as error:  # noqa: BLE001 - as above
            log.warning("Cannot claim a note: %s", error)
        if not claimed:
            self._open.discard((id(source), key))
        return claimed

    async def _write_settled(self) -> None:
        while self._settled:
            note, arrived = self._settled[0]
            settle = note.source.told if arrived else note.source.given_back
            try:
                with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLAIM_S):
                    await anyio.to_thread.run_sync(settle, note.key, abandon_on_cancel=True)
            except Exception as error:  # noqa: BLE001 - the claim ends by itself
                log.warning("Cannot keep whether a note was told: %s", error)
            self._settled.popleft()
            self._open.discard((id(note.source), note.key))
            if not arrived:
                for source, looked in self._sources:
                    if source is note.source:
                        looked.due.append(Due(note.key, note.text))
            await anyio.lowlevel.checkpoint_if_cancelled()


class NotesOfTurn:
    """The notes that one turn has told. A note has arrived once the model has made another call, or the turn has ended
    well: until then it may have been lost on the way."""

    def __init__(self, notes: Notes | None, redactor: Redactor) -> None:
        self._notes = notes
        self._redactor = redactor
        self._given: list[Note] = []

    async def next(self) -> str | None:
        """The text of the next note, without secrets."""
        note = None if self._notes is None else await self._notes.take()
        if note is None:
            return None
        self._given.append(note)
        return self._redactor.text(note.text)

    def settle(self, *, arrived: bool) -> None:
        """Settle what was told so far."""
        while self._given and self._notes is not None:
            self._notes.settle(self._given.pop(), arrived=arrived)
