"""Pending writes: changes by key that are not on disk yet, in the order in which they were made.

An entry is never modified, only replaced, and only by a caller that has seen the previous one: so a reader that finds
the same entry before and after reading the disk knows that both belong together.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..contracts import Document, Json, as_written

Step = Callable[[Document | None], Json | None]


@dataclass(frozen=True, slots=True)
class Waiting:
    """The pending changes of one key."""

    steps: tuple[Step, ...] = ()
    landing: int = 0
    """How many of the first steps are being written just now."""
    lands_as: int = 0
    """The document has those steps once it has this revision."""

    def after(self, revision: int) -> tuple[Step, ...]:
        """The steps that a document of this revision does not include yet."""
        has_landed = self.landing and revision >= self.lands_as
        return self.steps[self.landing :] if has_landed else self.steps

    def with_one_more(self, step: Step) -> Waiting:
        return replace(self, steps=(*self.steps, step))


NOTHING = Waiting()


class Behind:
    """The pending writes of a storage, by key. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, Waiting] = {}

    def of(self, key: str) -> Waiting:
        return self._waiting.get(key, NOTHING)

    def all_keys(self) -> list[str]:
        with self._lock:
            return sorted(self._waiting)

    def swap(self, key: str, before: Waiting, after: Waiting) -> bool:
        """Compare and swap. False, with nothing changed, when another thread was quicker."""
        with self._lock:
            if self._waiting.get(key, NOTHING) is not before:
                return False
            if after.steps:
                self._waiting[key] = after
            else:
                self._waiting.pop(key, None)
            return True

    def mark(self, key: str, landing: int, lands_as: int) -> None:
        """Note that the first `landing` steps are about to be written, as revision `lands_as`."""
        while True:
            waiting = self.of(key)
            if self.swap(key, waiting, replace(waiting, landing=landing, lands_as=lands_as)):
                return

    def drop(self, key: str, count: int) -> None:
        """Remove the first steps: they are on disk, or never will be."""
        while True:
            waiting = self.of(key)
            if self.swap(key, waiting, Waiting(waiting.steps[count:])):
                return


def applied(document: Document | None, key: str, step: Step) -> Document | None:
    """The document after one change; the same object when the change does nothing. Raises what the change raises.

    The change gets a copy, and its result is copied: later modifications of either have no effect here.
    """
    changed = step(as_written(document) if document is not None else None)
    if changed is None:
        return document
    return as_written(Document(key, revision_of(document) + 1, changed))


def replayed(document: Document | None, key: str, steps: tuple[Step, ...]) -> tuple[Document | None, list[Exception]]:
    """The document after all changes, and the errors of changes that are no longer possible."""
    lost: list[Exception] = []
    for step in steps:
        try:
            document = applied(document, key, step)
        except Exception as error:  # noqa: BLE001 - the change was possible then, but others wrote since
            lost.append(error)
    return document, lost


def revision_of(document: Document | None) -> int:
    return document.revision if document is not None else 0
