"""Tells the model what became of its proposals, each outcome once: failed, approved, rejected, active, stopped.

`proposals/heard` keeps up to which time of a neuron's history the model was told. A home without that document is new
to this, or a copy: what has happened there before is not told.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from cortex.turn import Due

if TYPE_CHECKING:
    from neurons import Neuron, NeuronStore, StatusChange, Storage

KEY = "proposals/heard"
FOLDER = "proposals"
MAX_AGE_S = 14 * 86_400.0
"""What was decided longer ago than this is no news."""
CLAIM_S = 3600.0
"""A process that is telling the model and has not noted the end of that within this time has died."""
MAX_DUE = 3
MAX_LINES = 3
MAX_REASON = 300
_AGENT, _CORTEX = "agent", "cortex"

# By the event of a line of the history. Other events are no outcome: the owner does them for reasons of their own.
_SAID = {
    "failed": "it failed its quarantine and is disabled; the same code is not taken again, better code is",
    "approve": "the owner approved it, and it is on trial",
    "reject": "the owner rejected it; do not propose it again unless the owner asks for it",
    "consolidate": "it has passed its trial and is active",
    "expire": "the owner did not answer in time, and it is disabled",
}


class OutcomeNotes:
    """A `cortex.turn.NoteSource`. A key is a neuron's id with the time of the last outcome that its text tells."""

    def __init__(self, store: NeuronStore, storage: Storage, *, now: Callable[[], float] = time.time) -> None:
        self._store = store
        self._storage = storage
        self._now = now

    def stamp(self) -> object:
        return self._store.stamp(), self._storage.stamp(FOLDER)

    async def look(self) -> Sequence[Due]:
        return await anyio.to_thread.run_sync(self._found)

    def claim(self, key: str) -> bool:
        neuron_id, at = _parted(key)
        is_mine = False

        def claim(data: dict[str, Any] | None) -> dict[str, Any] | None:
            nonlocal is_mine
            known, now = _known(data), self._now()
            note = known.get(neuron_id, {})
            # Under the lock: of two processes that would tell it, only one does.
            is_mine = _heard(note) < at and not _is_claimed(note, now)
            return {"heard": {**known, neuron_id: {**note, "claimed": now}}} if is_mine else None

        self._storage.update(KEY, claim)
        return is_mine

    def told(self, key: str) -> None:
        neuron_id, at = _parted(key)
        self._note(neuron_id, lambda note: {"at": max(at, _heard(note))})

    def given_back(self, key: str) -> None:
        self._note(_parted(key)[0], lambda note: {"at": _heard(note)})

    def _note(self, neuron_id: str, change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> None:
        def noted(data: dict[str, Any] | None) -> dict[str, Any]:
            known = _known(data)
            return {"heard": {**known, neuron_id: change(known.get(neuron_id, {}))}}

        self._storage.update(KEY, noted)

    def _found(self) -> list[Due]:
        neurons = self._store.load_all()
        document = self._storage.read(KEY)
        if document is None:
            self._storage.update(KEY, lambda data: _begun(neurons) if data is None else None)
            return []
        known, now = _known(document.data), self._now()
        due = []
        for neuron in neurons:
            note = known.get(neuron.id, {})
            lines = outcomes(neuron, max(_heard(note), now - MAX_AGE_S))
            if lines and not _is_claimed(note, now):
                due.append((lines[-1].at, Due(f"{neuron.id}@{lines[-1].at!r}", text_of(neuron, lines))))
        return [one for _, one in sorted(due, key=lambda pair: pair[0])[:MAX_DUE]]


def outcomes(neuron: Neuron, since: float) -> list[StatusChange]:
    """What has happened since to a neuron that the agent proposed."""
    if not neuron.history or neuron.history[0].by != _AGENT:
        return []
    said = {*_SAID, "disable"}
    return [line for line in neuron.history if line.event in said and line.by != _AGENT and line.at > since]


def text_of(neuron: Neuron, lines: Sequence[StatusChange]) -> str:
    """One line. Reasons are texts of the owner or of the candidate's own code: quoted, bounded, and named as data."""
    parts = []
    for line in lines[-MAX_LINES:]:
        by = "it was stopped" if line.by == _CORTEX else "the owner stopped it"
        said = _SAID.get(line.event, by)
        reason = " ".join(line.reason[: 4 * MAX_REASON].split())[:MAX_REASON]
        parts.append(f"{said} (the reason, as data: {json.dumps(reason)})" if reason else said)
    what = "function" if neuron.is_function else "neuron"
    return f'Your proposal of the {what} "{neuron.name}" (id {neuron.id}): {"; then ".join(parts)}.'


def _begun(neurons: Sequence[Neuron]) -> dict[str, Any]:
    return {"heard": {one.id: {"at": one.history[-1].at} for one in neurons if one.history}}


def _known(data: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """The valid notes in the document: it may have been edited by hand."""
    heard = (data or {}).get("heard")
    return {key: note for key, note in heard.items() if isinstance(note, dict)} if isinstance(heard, dict) else {}


def _heard(note: Mapping[str, Any]) -> float:
    at = note.get("at")
    return float(at) if isinstance(at, int | float) and not isinstance(at, bool) else 0.0


def _is_claimed(note: Mapping[str, Any], now: float) -> bool:
    claimed = note.get("claimed")
    return isinstance(claimed, int | float) and 0 <= now - claimed < CLAIM_S


def _parted(key: str) -> tuple[str, float]:
    neuron_id, _, at = key.rpartition("@")
    return neuron_id, float(at)
