"""The programs of a home that stand by, so that the one that leads knows who listens, and to whom it hands over.

Each has a document of its own, written again every few seconds. One that is not is a program that has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..contracts import Storage

FOLDER = "programs"
BEAT_S = 2.0
ALIVE_S = 8.0
"""A program that has not written for longer has ended."""
_FORGET_S = 60.0
_MAX_PROGRAMS = 200


@dataclass(frozen=True, slots=True)
class Others:
    """What is known of the programs that stand by."""

    listen: bool = False
    runner_waits: bool = False
    """A program that only runs neurons waits for its turn."""


class Programs:
    """All methods may be called from any thread; they wait for the disk."""

    def __init__(self, storage: Storage, program: str) -> None:
        self._storage = storage
        self._key = f"{FOLDER}/{program}"
        self._is_noted = False

    def note(self, now: float, *, runner: bool) -> None:
        """Say that this program stands by."""
        self._storage.write_through(self._key, {"at": now, "runner": runner})
        self._is_noted = True

    def end(self) -> None:
        if self._is_noted:
            self._storage.delete(self._key)
            self._is_noted = False

    def others(self, now: float) -> Others:
        """Who stands by, beside this program. Also forgets programs that ended long ago."""
        listen = runner_waits = False
        for document in self._storage.read_all(f"{FOLDER}/")[:_MAX_PROGRAMS]:
            at = document.data.get("at")
            age = now - at if isinstance(at, int | float) else _FORGET_S + 1
            if abs(age) > _FORGET_S:
                self._storage.delete(document.key)
            elif document.key != self._key and abs(age) < ALIVE_S:
                listen = True
                runner_waits |= document.data.get("runner") is True
        return Others(listen, runner_waits)
