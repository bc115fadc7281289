"""Where the tests of the storage keep their documents: a folder, and the public fake of one."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path

from neurons import Damage, DeferredStorage, MemoryStorage
from sandbox import Flusher

BOUND_S = 60
AnyStorage = DeferredStorage | MemoryStorage


class Place(ABC):
    """One disk. Each storage that is opened on it stands for a process."""

    @abstractmethod
    def open(self, on_damage: Callable[[Damage], None] = print, flusher: Flusher | None = None) -> AnyStorage: ...

    @abstractmethod
    def put(self, key: str, data: bytes) -> None:
        """What some other program has left there."""

    @abstractmethod
    def get(self, key: str) -> bytes | None: ...

    @abstractmethod
    def aside(self) -> list[str]:
        """The names of what was set aside."""


class InFolder(Place):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, on_damage: Callable[[Damage], None] = print, flusher: Flusher | None = None) -> DeferredStorage:
        return DeferredStorage(self.folder, on_damage=on_damage, flusher=flusher)

    def put(self, key: str, data: bytes) -> None:
        path = self.folder / f"{key}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def get(self, key: str) -> bytes | None:
        path = self.folder / f"{key}.json"
        return path.read_bytes() if path.exists() else None

    def aside(self) -> list[str]:
        return sorted(path.name for path in self.folder.rglob("*.damaged-*"))


class InMemory(Place):
    def __init__(self) -> None:
        self.first = MemoryStorage()

    def open(self, on_damage: Callable[[Damage], None] = print, flusher: Flusher | None = None) -> MemoryStorage:
        return MemoryStorage(self.first, on_damage=on_damage, flusher=flusher)

    def put(self, key: str, data: bytes) -> None:
        self.first.files[key] = data

    def get(self, key: str) -> bytes | None:
        return self.first.files.get(key)

    def aside(self) -> list[str]:
        return sorted(name for name in self.first.files if ".damaged-" in name)


def wait_until(is_so: Callable[[], bool]) -> None:
    give_up = time.monotonic() + BOUND_S
    while not is_so():
        assert time.monotonic() < give_up
        time.sleep(0.000_5)
