"""Stores JSON documents by key. A change is visible at once; it is on disk soon, or before the call returns.

Writers hold the lock of the folder and read again under it, so that no change is lost. Readers hold no lock: a file is
always whole.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakSet

from sandbox import Flusher

from ..contracts import (
    Change,
    Conflict,
    Damaged,
    Document,
    Json,
    StorageError,
    as_written,
    check_beginning,
    check_key,
    decode,
    encode,
)
from .medium import LOCK_TIMEOUT_S, Folders, Medium
from .pending_writes import Behind, Step, Waiting, applied, replayed, revision_of

log = logging.getLogger("motor_cortex")

# Pending changes are kept as functions and applied again after writes of other processes: neither number may grow
# without end.
_MAX_STEPS = 32
_MAX_WAITING = 256
_MAX_REPORTED = 1_000


@dataclass(frozen=True, slots=True)
class Damage:
    """A document that could not be read."""

    key: str
    path: Path | None
    """Its new path; None when it was not moved."""
    reason: str

    def __str__(self) -> str:
        where = f'is kept as "{self.path}"' if self.path is not None else "stays where it is"
        return f'Cannot read "{self.key}": {self.reason}; it {where}'


def log_damage(damage: Damage) -> None:
    log.warning("%s", damage)


class Documents:
    """`Storage` on any medium. Pending writes are visible only to this object until they are flushed."""

    def __init__(self, medium: Medium, flusher: Flusher | None, on_damage: Callable[[Damage], None]) -> None:
        self._medium = medium
        self._flusher = flusher
        self._on_damage = on_damage
        self._behind = Behind()
        self._reported: set[tuple[str, str]] = set()

    def read(self, key: str) -> Document | None:
        check_key(key)
        return self._seen(key)[0]

    def read_all(self, prefix: str) -> list[Document]:
        check_beginning(prefix)
        waiting = (key for key in self._behind.all_keys() if key.startswith(prefix))
        found: list[Document] = []
        for key in sorted({*self._medium.keys(prefix), *waiting}):
            try:
                document = self.read(key)
            except StorageError as error:
                self._report(Damage(key, None, str(error)))
                continue
            if document is not None:
                found.append(document)
        return found

    def write(self, key: str, data: Json, *, revision: int | None = None) -> int:
        check_key(key)
        return revision_of(self._put_behind(key, _replacing(key, data, revision)))

    def write_through(self, key: str, data: Json, *, revision: int | None = None) -> int:
        check_key(key)
        return revision_of(self._land(key, _replacing(key, data, revision)))

    def update(self, key: str, change: Change, *, through: bool = True) -> Document | None:
        check_key(key)

        def step(document: Document | None) -> Json | None:
            return change(document.data if document is not None else None)

        # A copy, because the pending document is given to other callers, too.
        document = self._land(key, step) if through else self._put_behind(key, step)
        return as_written(document) if document is not None else None

    def delete(self, key: str) -> None:
        """Delete the document now, together with its pending writes."""
        with self._medium.exclusive(check_key(key)):
            self._medium.remove(key)
            self._behind.drop(key, len(self._behind.of(key).steps))

    def flush(self) -> None:
        """Write all pending changes. Those that the disk refuses stay pending; those that conflict with later writes of
        others are dropped. Raises the first such error after everything else is on disk."""
        troubles: list[Exception] = []
        for key in self._behind.all_keys():
            try:
                self._land(key, None, troubles)
            except StorageError as error:
                troubles.append(error)
        if troubles:
            raise troubles[0]

    def alone(self, folder: str) -> AbstractContextManager[None]:
        check_beginning(f"{folder}/")
        return self._medium.alone(folder)

    def set_aside(self, key: str, reason: str, *, revision: int) -> None:
        """Move a document that its reader cannot use out of the way, and report it, unless it was written again since
        `revision`."""
        with self._medium.exclusive(check_key(key)):
            if revision_of(self._loaded(key)) == revision:
                self._away(key, reason)

    def stamp(self, folder: str) -> object:
        check_beginning(f"{folder}/")
        return self._medium.stamp(folder)

    def close(self) -> None:
        pass

    def _seen(self, key: str) -> tuple[Document | None, Waiting]:
        """The document including its pending changes, and those changes."""
        while True:
            waiting = self._behind.of(key)
            document = self._loaded(key)
            if self._behind.of(key) is waiting:
                return replayed(document, key, waiting.after(revision_of(document)))[0], waiting

    def _put_behind(self, key: str, step: Step) -> Document | None:
        while True:
            before, waiting = self._seen(key)
            after = applied(before, key, step)
            if after is before:
                return after
            if len(waiting.steps) >= _MAX_STEPS:
                return self._land(key, step)
            if self._behind.swap(key, waiting, waiting.with_one_more(step)):
                break
        if self._flusher is not None:
            self._flusher.want(self, self.flush)
        if len(self._behind.all_keys()) > _MAX_WAITING:
            self.flush()
        return after

    def _land(self, key: str, step: Step | None, troubles: list[Exception] | None = None) -> Document | None:
        """Write the pending changes of a key to disk, and then one more if given. Returns the resulting document."""
        with self._medium.exclusive(check_key(key)):
            steps = self._behind.of(key).steps
            before = self._loaded(key)
            after, lost = replayed(before, key, steps)
            if step is not None:
                after = applied(after, key, step)
            if after is not None and after is not before:
                self._save(key, after, len(steps))
            self._behind.drop(key, len(steps))
        for error in lost:
            log.warning('A change of "%s" is lost, because another process has written since: %s', key, error)
        if troubles is not None:
            troubles.extend(lost)
        return after

    def _save(self, key: str, document: Document, steps: int) -> None:
        self._behind.mark(key, steps, document.revision)
        try:
            self._medium.save(key, encode(document))
        except BaseException:
            # The disk may fail after others can already see the new file: changes that they see must not be applied
            # again.
            if revision_of(self._loaded(key)) == document.revision:
                self._behind.drop(key, steps)
            else:
                self._behind.mark(key, 0, 0)
            raise

    def _loaded(self, key: str) -> Document | None:
        """The document on disk. A damaged one is set aside."""
        try:
            return self._whole(key)
        except Damaged:
            pass
        with self._medium.exclusive(check_key(key)):
            try:
                # Read again: another process may have repaired it meanwhile.
                return self._whole(key)
            except Damaged as error:
                self._away(key, str(error))
                return None

    def _whole(self, key: str) -> Document | None:
        data = self._medium.load(key)
        return decode(key, data) if data is not None else None

    def _away(self, key: str, reason: str) -> None:
        try:
            path = self._medium.set_aside(key)
        except StorageError as error:
            self._report(Damage(key, None, f"{reason}; {error}"))
        else:
            self._tell(Damage(key, path, reason))

    def _report(self, damage: Damage) -> None:
        """Report a damage once: a document that could not be moved is found again by every reader."""
        known = (damage.key, damage.reason)
        if known not in self._reported and len(self._reported) < _MAX_REPORTED:
            self._reported.add(known)
            self._tell(damage)

    def _tell(self, damage: Damage) -> None:
        try:
            self._on_damage(damage)
        except Exception as error:  # noqa: BLE001 - a failing callback must not keep the rest from being read
            log.warning("%s (%s)", damage, error)

    def _start_anew(self) -> None:
        """Reset after a fork: pending changes are the parent's to write."""
        self._behind = Behind()


class DeferredStorage(Documents):
    """A storage in files: the key `neurons/x` is `neurons/x.json` in the folder. With a flusher, pending writes reach
    the disk by themselves; else by `flush`."""

    def __init__(
        self,
        folder: Path,
        *,
        flusher: Flusher | None = None,
        on_damage: Callable[[Damage], None] = log_damage,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> None:
        self._folders = Folders(folder, lock_timeout_s)
        super().__init__(self._folders, flusher, on_damage)
        _storages.add(self)

    def close(self) -> None:
        """Close the files. Pending writes stay in memory; any use opens the files again."""
        self._folders.close()

    def _start_anew(self) -> None:
        super()._start_anew()
        self._folders.start_anew()


_storages: WeakSet[DeferredStorage] = WeakSet()


def _after_fork() -> None:
    for storage in _storages:
        storage._start_anew()


os.register_at_fork(after_in_child=_after_fork)


def _replacing(key: str, data: Json, revision: int | None) -> Step:
    # Copied at once: later changes that the caller makes to the data must not be written.
    copy = as_written(Document(key, 1, data)).data

    def step(document: Document | None) -> Json:
        found = revision_of(document)
        if revision is not None and found != revision:
            raise Conflict(f'Cannot write "{key}": its revision is {found} now, not {revision}')
        return copy

    return step
