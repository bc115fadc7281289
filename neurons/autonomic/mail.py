"""What the programs of a home hand each other: emissions to be told, said or read, and signals for the neurons.

All of it is in documents of the home, which a person or another program may have edited: a document that is no mail is
set aside, with a line in the log, and so is one that is too large, before it is read. Each entry is checked when it is
read, and what does not pass is left out, counted, and told once. A program takes entries under the lock of the folder,
so that no two programs take the same one. All methods may be called from any thread; they wait for the disk.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import to_json

from ..contracts import MAX_EMISSION_TEXT, SCHEDULE, Action, Outgoing, Signal
from .signal_limits import is_type

if TYPE_CHECKING:
    from ..contracts import Document, Json, Storage

log = logging.getLogger("motor_cortex")

FOLDER = "mail"
_EMISSIONS, _SIGNALS = f"{FOLDER}/emissions", f"{FOLDER}/signals"
MAX_LETTERS = 128
MAX_POSTED = 512
MAX_BYTES = 1024 * 1024
"""Of the entries of one of the documents, as they are written. The storage reads no mail above twice as much."""
_MAX_ID = 100
_MAX_KNOWN = 1_000
_SOURCES = frozenset({"host", "cortex"})
_Name = Annotated[str, Field(max_length=100)]


class Letter(BaseModel):
    """An emission on its way, and what became of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    signal: Outgoing
    source: _Name
    name: _Name = ""
    action: Action
    text: Annotated[str, Field(max_length=MAX_EMISSION_TEXT)] = ""
    n: Annotated[int, Field(ge=0)] = 0
    """Letters are counted from 1: a reader knows by it what is new."""
    by: _Name = ""
    """The program that has taken it. It is not taken again, whatever becomes of that program."""

    @property
    def neuron(self) -> str:
        return self.source.removeprefix("neuron:")

    @property
    def waits(self) -> bool:
        return self.action != "none" and not self.by


class _Posted(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    signal: Outgoing
    source: _Name


@dataclass(frozen=True, slots=True)
class Read:
    """The letters that are in the document, and the number of the newest."""

    letters: list[Letter]
    newest: int


class Mail:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.dropped = 0
        """Entries that made way for others, or were no entries."""
        self._told: dict[str, int] = {}

    def stamp(self) -> object:
        """A cheap value that changes with every write of any program."""
        return self._storage.stamp(FOLDER)

    def publish(self, letters: Sequence[Letter]) -> None:
        """Add letters; on disk when it returns. One that was added before is not added again."""

        def add(data: Json | None) -> Json | None:
            found, known = self._letters(data), _ids(data)
            newest = _newest(data, found)
            fresh = {one.signal.id: one for one in letters if one.signal.id not in set(known)}
            if not fresh:
                return None
            added = [one.model_copy(update={"n": newest + at}) for at, one in enumerate(fresh.values(), 1)]
            return self._document([*found, *added], [*known, *fresh], newest + len(added))

        self._clear_of_others(_EMISSIONS, "letters")
        self._storage.update(_EMISSIONS, add)

    def read(self) -> Read:
        document = self._clear_of_others(_EMISSIONS, "letters")
        letters = self._letters(document.data if document is not None else None)
        return Read(letters, _newest(document.data if document is not None else None, letters))

    def take(self, may: Callable[[Letter], bool], program: str) -> list[Letter]:
        """Take the waiting letters that this program may deliver. No other program has taken them, or will."""
        taken: list[Letter] = []

        def claim(data: Json | None) -> Json | None:
            found = self._letters(data)
            taken[:] = [one for one in found if one.waits and may(one)]
            if not taken:
                return None
            ids = {one.signal.id for one in taken}
            after = [one.model_copy(update={"by": program}) if one.signal.id in ids else one for one in found]
            return self._document(after, _ids(data), _newest(data, found))

        self._clear_of_others(_EMISSIONS, "letters")
        self._storage.update(_EMISSIONS, claim)
        return taken

    def post(self, signals: Iterable[Signal]) -> None:
        """Leave signals for the process that runs the neurons; the oldest make way."""
        posted = [_Posted(signal=as_outgoing(signal), source=signal.source) for signal in signals]

        def add(data: Json | None) -> Json:
            return self._fitting({}, "signals", [*self._posted(data), *posted], MAX_POSTED)

        self._clear_of_others(_SIGNALS, "signals")
        self._storage.update(_SIGNALS, add)

    def take_posted(self, now: float) -> list[Signal]:
        """The signals that other programs left. They are given out once."""
        taken: list[Signal] = []

        def clear(data: Json | None) -> Json | None:
            taken[:] = [signal for one in self._posted(data) if (signal := _signal(one, now)) is not None]
            return {"signals": []} if data is not None and data.get("signals") != [] else None

        self._clear_of_others(_SIGNALS, "signals")
        self._storage.update(_SIGNALS, clear)
        return taken

    def _clear_of_others(self, key: str, entries: str) -> Document | None:
        """The document. One that has no list of entries is none of ours, and set aside."""
        document = self._storage.read(key)
        if document is None or isinstance(document.data.get(entries), list):
            return document
        self._storage.set_aside(key, f"it has no list of {entries}", revision=document.revision)
        return None

    def _letters(self, data: Json | None) -> list[Letter]:
        return self._checked(data, "letters", Letter, MAX_LETTERS)

    def _posted(self, data: Json | None) -> list[_Posted]:
        return self._checked(data, "signals", _Posted, MAX_POSTED)

    def _checked(self, data: Json | None, key: str, kind: type[Any], most: int) -> list[Any]:
        given = (data or {}).get(key)
        given = given[-most:] if isinstance(given, list) else []
        found: list[Any] = []
        for one in given:
            try:
                found.append(kind.model_validate(one))
            except ValidationError:
                self.dropped += 1
        bad = len(given) - len(found)
        if bad > self._told.get(key, 0):
            log.warning('%d of %d %s in "%s" of the home are none, and are left out', bad, len(given), key, FOLDER)
        self._told[key] = bad
        return found

    def _document(self, letters: list[Letter], known: list[str], newest: int) -> Json:
        if len(letters) > MAX_LETTERS:
            # What was delivered makes way first: it is kept only for programs that listen.
            done = [one for one in letters if not one.waits][: len(letters) - MAX_LETTERS]
            gone = {one.signal.id for one in done}
            letters = [one for one in letters if one.signal.id not in gone]
        return self._fitting({"newest": newest, "known": known[-_MAX_KNOWN:]}, "letters", letters, MAX_LETTERS)

    def _fitting(self, rest: Json, key: str, entries: Sequence[BaseModel], most: int) -> Json:
        """A document with the newest entries that fit."""
        kept: list[Json] = []
        room = MAX_BYTES
        for entry in reversed(entries):
            dumped = entry.model_dump(mode="json", by_alias=True)
            room -= len(to_json(dumped))
            if room < 0 or len(kept) == most:
                break
            kept.append(dumped)
        self.dropped += len(entries) - len(kept)
        return {**rest, key: kept[::-1]}


def as_outgoing(signal: Signal) -> Outgoing:
    return Outgoing(
        id=signal.id,
        type=signal.type,
        data=signal.data,
        priority=signal.priority,
        at=signal.at,
        correlation=signal.correlation,
        parent=signal.parent,
        depth=signal.depth,
        origin=signal.origin,
    )


def signal_from(one: Outgoing, source: str, said: str = "") -> Signal:
    return Signal(
        type=one.type,
        source=source,
        data=one.data,
        priority=one.priority,
        at=one.at,
        id=one.id,
        correlation=one.correlation,
        parent=one.parent,
        depth=one.depth,
        origin=one.origin,
        said=said,
    )


def _signal(posted: _Posted, now: float) -> Signal | None:
    """The signal, if a program may emit it: a file must not be able to speak for a neuron or its schedule."""
    one = posted.signal
    if posted.source not in _SOURCES or not is_type(one.type) or one.type == SCHEDULE:
        return None
    signal = signal_from(one, posted.source)
    return signal if signal.at <= now + 1 else None


def _ids(data: Json | None) -> list[str]:
    known = (data or {}).get("known")
    known = known[-_MAX_KNOWN:] if isinstance(known, list) else []
    return [one for one in known if isinstance(one, str) and len(one) <= _MAX_ID]


def _newest(data: Json | None, letters: Sequence[Letter]) -> int:
    newest = (data or {}).get("newest")
    return max([newest if type(newest) is int and newest >= 0 else 0, *(one.n for one in letters)])
