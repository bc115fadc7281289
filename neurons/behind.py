"""What was written behind and is not on disk yet: changes by key, in the order in which they were made.

An entry is never changed, only replaced, and only by who has seen the one before: so a reader that finds the same entry
before and after a look at the disk knows that both belong together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from .document_text import decode, encode
from .ports import Document, Json

Step = Callable[[Document | None], Json | None]


@dataclass(frozen=True, slots=True)
class Waiting:
    steps: tuple[Step, ...] = ()
    landing: int = 0
    """So many of the first ones are just being written."""
    lands_as: int = 0
    """The revision that says that they are there."""

    def after(self, revision: int) -> tuple[Step, ...]:
        """Those that a document of this revision does not have in it yet."""
        has_landed = self.landing and revision >= self.lands_as
        return self.steps[self.landing :] if has_landed else self.steps

    def with_one_more(self, step: Step) -> Waiting:
        return replace(self, steps=(*self.steps, step))


NOTHING = Waiting()


class Behind:
    """Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, Waiting] = {}

    def of(self, key: str) -> Waiting:
        return self._waiting.get(key, NOTHING)

    def all_keys(self) -> list[str]:
        with self._lock:
            return sorted(self._waiting)

    def swap(self, key: str, before: Waiting, after: Waiting) -> bool:
        """False, and nothing is changed, when somebody else was quicker."""
        with self._lock:
            if self._waiting.get(key, NOTHING) is not before:
                return False
            if after.steps:
                self._waiting[key] = after
            else:
                self._waiting.pop(key, None)
            return True

    def mark(self, key: str, landing: int, lands_as: int) -> None:
        """The first ones are about to be on disk."""
        while True:
            waiting = self.of(key)
            if self.swap(key, waiting, replace(waiting, landing=landing, lands_as=lands_as)):
                return

    def drop(self, key: str, count: int) -> None:
        """The first ones are on disk, or never will be."""
        while True:
            waiting = self.of(key)
            if self.swap(key, waiting, Waiting(waiting.steps[count:])):
                return


def applied(data: bytes | None, key: str, step: Step) -> bytes | None:
    """The text of the document after one change; the same when it leaves everything as it is.

    Texts, and not what was read from them: a change may do what it likes with what it is given, and keep what it gave.
    Raises what the change raises.
    """
    document = decode(key, data) if data is not None else None
    revision = document.revision if document is not None else 0
    changed = step(document)
    return data if changed is None else encode(Document(key, revision + 1, changed))


def replayed(data: bytes | None, key: str, steps: tuple[Step, ...]) -> tuple[bytes | None, list[Exception]]:
    """The text after all changes, and why some could not be made any more."""
    lost: list[Exception] = []
    for step in steps:
        try:
            data = applied(data, key, step)
        except Exception as error:  # noqa: BLE001 - of whoever asked; it was possible then, and others have written since
            lost.append(error)
    return data, lost
