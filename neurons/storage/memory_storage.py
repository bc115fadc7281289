"""An in-memory storage for tests: behaves like the files, and can simulate crashes and damage."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path

from sandbox import Flusher

from ..contracts import StorageError
from .medium import LOCK_TIMEOUT_S
from .storage import Damage, Documents, log_damage


class MemoryStorage(Documents):
    """A storage that ends with the process. `MemoryStorage(other)` shares the disk of `other`, like a second process on
    the same home; pending writes are not shared."""

    def __init__(
        self,
        other: MemoryStorage | None = None,
        *,
        flusher: Flusher | None = None,
        on_damage: Callable[[Damage], None] = log_damage,
    ) -> None:
        self._disk: Disk = other._disk if other is not None else Disk()
        super().__init__(self._disk, flusher, on_damage)

    @property
    def files(self) -> dict[str, bytes]:
        """The bytes on the disk, by key. A test may put damage there."""
        return self._disk.files

    @property
    def refuses(self) -> str | None:
        """While this is a text, every write fails with it as the disk's error."""
        return self._disk.refuses

    @refuses.setter
    def refuses(self, reason: str | None) -> None:
        self._disk.refuses = reason

    def crash(self) -> None:
        """Lose everything that was not flushed."""
        self._start_anew()


class Disk:
    """A `Medium` in memory."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.refuses: str | None = None
        self._writes: Counter[str] = Counter()
        self._locks: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)

    def exclusive(self, folder: str) -> AbstractContextManager[None]:
        return self._held(f"{folder}/.lock")

    def alone(self, folder: str) -> AbstractContextManager[None]:
        return self._held(f"{folder}/.alone")

    def load(self, key: str) -> bytes | None:
        return self.files.get(key)

    def save(self, key: str, data: bytes) -> None:
        self._check(key, "write")
        self.files[key] = data
        self._count(key)

    def remove(self, key: str) -> None:
        self._check(key, "delete")
        self.files.pop(key, None)
        self._count(key)

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in list(self.files) if key.startswith(prefix) and ".damaged-" not in key)

    def set_aside(self, key: str) -> Path | None:
        self._check(key, "set aside")
        number = next(number for number in count(1) if f"{key}.damaged-{number}" not in self.files)
        self.files[f"{key}.damaged-{number}"] = self.files.pop(key)
        self._count(key)
        return Path(f"{key}.damaged-{number}")

    def stamp(self, folder: str) -> object:
        return self._writes[folder]

    def _count(self, key: str) -> None:
        self._writes[key.partition("/")[0]] += 1

    def _check(self, key: str, action: str) -> None:
        if self.refuses is not None:
            raise StorageError(f'Cannot {action} "{key}": {self.refuses}')

    @contextmanager
    def _held(self, name: str) -> Iterator[None]:
        if not self._locks[name].acquire(timeout=LOCK_TIMEOUT_S):
            raise StorageError(f"Cannot lock the disk: another thread has held it for {LOCK_TIMEOUT_S:g} s")
        try:
            yield
        finally:
            self._locks[name].release()
