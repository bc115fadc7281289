"""The files and folders in which documents are stored. Handles bytes and names, and knows nothing of their content."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from sandbox import FileLock, flush_folder, move_aside, private_folder, replace_file, sweep_unfinished

from ..contracts import Damaged, StorageError, is_key, max_bytes

LOCK_TIMEOUT_S = 10.0
# Two writes within one tick of the file system's clock leave the same time: a folder changed this recently is checked
# again.
_SETTLED_S = 0.05
_RETRY_S = 0.000_5
_ENDING = ".json"


class Medium(Protocol):
    """All methods raise StorageError when the disk refuses."""

    def exclusive(self, folder: str) -> AbstractContextManager[None]:
        """The lock for writers, among all processes and threads. The same thread may enter again."""
        ...

    def alone(self, folder: str) -> AbstractContextManager[None]:
        """A second such lock, for decisions that look at several documents. Take it before `exclusive`."""
        ...

    def load(self, key: str) -> bytes | None:
        """The bytes of the document; None when there is none. Raises Damaged if it is not a file or too large."""
        ...

    def save(self, key: str, data: bytes) -> None:
        """Replace the bytes atomically: after a crash the file has the old or the new bytes, never a mix. On return the
        new bytes are on disk."""
        ...

    def remove(self, key: str) -> None: ...

    def keys(self, prefix: str) -> list[str]: ...

    def set_aside(self, key: str) -> Path | None:
        """Rename the document, and return the new path."""
        ...

    def stamp(self, folder: str) -> object:
        """A value that changes once any process has written there."""
        ...


class OneAtATime:
    """A lock between processes and threads; the thread that holds it may take it again."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._between = FileLock(path)
        self.start_anew()

    def start_anew(self) -> None:
        """Reset the lock, also in a forked child: a lock held by a thread that does not exist there would be held for
        ever."""
        self._own = threading.RLock()
        # Closed, not just forgotten: an open handle would keep the lock after the parent has died.
        self._between.close()
        self._between = FileLock(self._path)
        self._depth = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        give_up = time.monotonic() + self._timeout_s
        if not self._own.acquire(timeout=self._timeout_s):
            raise StorageError(f'Cannot lock "{self._path}": another thread has held it for {self._timeout_s:g} s')
        try:
            if not self._depth:
                # Only around taking it: an error while the lock is held is not the lock's fault.
                with _faults(self._path, "lock"):
                    self._take(give_up)
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if not self._depth:
                    self._between.release()
        finally:
            self._own.release()

    def close(self) -> None:
        """Close the file unless the lock is held; it is opened again when next taken."""
        with self._own:
            if not self._depth:
                self._between.close()

    def _take(self, give_up: float) -> None:
        while not self._between.try_take():
            if time.monotonic() > give_up:
                raise StorageError(
                    f'Cannot lock "{self._path}": another process holds it; if it is stopped, continue or end it'
                )
            time.sleep(_RETRY_S)


@contextmanager
def _faults(path: Path | str, action: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f'Cannot {action} "{path}": {error.strerror or error}') from error


class Folders:
    """A folder (mode 0700) for all documents whose keys begin with its name, with one file for each document."""

    def __init__(self, folder: Path, lock_timeout_s: float = LOCK_TIMEOUT_S) -> None:
        self._folder = folder
        self._lock_timeout_s = lock_timeout_s
        self._locks: dict[Path, OneAtATime] = {}
        self._swept: set[str] = set()

    def start_anew(self) -> None:
        for lock in list(self._locks.values()):
            lock.start_anew()

    def close(self) -> None:
        for lock in list(self._locks.values()):
            lock.close()

    @contextmanager
    def exclusive(self, folder: str) -> Iterator[None]:
        with self._lock(folder, ".lock").held():
            if folder not in self._swept:
                # All writers hold this lock: an unfinished file was left by a process that was killed.
                self._swept.add(folder)
                sweep_unfinished(self._folder / folder, older_than_s=0)
            yield

    def alone(self, folder: str) -> AbstractContextManager[None]:
        return self._lock(folder, ".alone").held()

    def load(self, key: str) -> bytes | None:
        # As a string: Path objects are the slowest part when there are a thousand files.
        path = f"{self._folder}/{key}{_ENDING}"
        with _faults(path, "read"):
            try:
                # Non-blocking: opening a named pipe that was put there would wait for ever.
                handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            except FileNotFoundError:
                return None
            except OSError:
                if os.path.islink(path):
                    raise Damaged("it is a link, and not a file") from None
                raise
            try:
                found = os.fstat(handle)
                if not stat.S_ISREG(found.st_mode):
                    raise Damaged("it is not a file")
                # Before it is read: one that is too large costs nothing.
                if found.st_size > (most := max_bytes(key)):
                    raise Damaged(f"it has more than {most} bytes")
                return os.read(handle, found.st_size)
            finally:
                os.close(handle)

    def save(self, key: str, data: bytes) -> None:
        path = self._path(key)
        with _faults(path, "write"):
            replace_file(path, data, durable=True)

    def remove(self, key: str) -> None:
        path = self._path(key)
        with _faults(path, "delete"), suppress(FileNotFoundError):
            os.unlink(path)
            flush_folder(path.parent)

    def keys(self, prefix: str) -> list[str]:
        folder, _, beginning = prefix.partition("/")
        with _faults(self._folder / folder, "read"):
            try:
                names = os.listdir(self._folder / folder)
            except FileNotFoundError:
                return []
        found = (f"{folder}/{name[: -len(_ENDING)]}" for name in names if name.endswith(_ENDING))
        return sorted(key for key in found if key.startswith(f"{folder}/{beginning}") and is_key(key))

    def set_aside(self, key: str) -> Path | None:
        path = self._path(key)
        with _faults(path, "set aside"):
            return move_aside(path)

    def stamp(self, folder: str) -> object:
        path = self._folder / folder
        with _faults(path, "read"):
            try:
                changed_ns = os.stat(path).st_mtime_ns
            except FileNotFoundError:
                return None
        return changed_ns, time.time() - changed_ns / 1e9 > _SETTLED_S

    def _path(self, key: str) -> Path:
        return self._folder / f"{key}{_ENDING}"

    def _lock(self, folder: str, name: str) -> OneAtATime:
        path = self._folder / folder / name
        # Each time: the folder may have been deleted.
        with _faults(path.parent, "make"):
            private_folder(path.parent)
        return self._locks.get(path) or self._locks.setdefault(path, OneAtATime(path, self._lock_timeout_s))
