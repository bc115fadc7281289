"""Caches results in a folder, and the most recent ones in memory.

If the cache fails, the only harm is that code runs again. Any number of processes may share the folder: files are
replaced atomically, and a file that another process has deleted counts as a miss.
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic_core import from_json, to_json

from cortex.home import Home, HomeError
from sandbox import ExecutionOutcome, LogEntry, Metrics, private_folder, replace_file, says_outside_strings

if TYPE_CHECKING:
    from cortex.settings import CacheSettings
    from sandbox import ExecutionOutcome, Flusher

log = logging.getLogger("motor_cortex")


MAX_BYTES = 262_144
"""At most this much for one result with its logs; a larger result is not cached."""
_DIGEST_BYTES = hashlib.sha256().digest_size


class Stored(NamedTuple):
    at: float
    body: bytes


def body_of(outcome: ExecutionOutcome) -> bytes | None:
    """The result as JSON; None if it is too large, or if JSON cannot represent it."""
    if sum(len(entry.text) for entry in outcome.logs) > MAX_BYTES:
        return None
    metrics = outcome.metrics
    logs = [(entry.level, entry.text) for entry in outcome.logs]
    try:
        body = to_json([outcome.result, outcome.has_value, logs, metrics.level, metrics.layers])
    except (ValueError, RecursionError):
        return None
    # NaN and Infinity are not valid JSON: `JSON.parse` in the sandbox would refuse the result.
    if len(body) > MAX_BYTES or says_outside_strings(body, b"NaN", b"Infinity"):
        return None
    return body


def outcome_of(body: bytes) -> ExecutionOutcome | None:
    """The result in a body; None if the body is not a valid one."""
    try:
        parts: Any = from_json(body, allow_inf_nan=False)
        result, has_value, logs, level, layers = parts
        entries = tuple(LogEntry(kind, text) for kind, text in logs)
        metrics = Metrics(cached=True, level=level, layers=tuple(layers))
    except (ValueError, TypeError, RecursionError):
        return None
    return ExecutionOutcome(
        ok=True,
        result=result,
        logs=entries,
        metrics=metrics,
        deterministic=True,
        has_value=bool(has_value),
    )


def file_of(key: str, stored: Stored) -> bytes:
    """The bytes of the file, with a digest over them and the key: a truncated or renamed file is not taken for a
    result."""
    rest = repr(stored.at).encode() + b"\n" + stored.body
    return _digest(key, rest) + rest


def stored_of(key: str, file: bytes) -> Stored | None:
    digest, rest = file[:_DIGEST_BYTES], file[_DIGEST_BYTES:]
    if digest != _digest(key, rest):
        return None
    at, _, body = rest.partition(b"\n")
    try:
        return Stored(float(at), body)
    except ValueError:
        return None


def _digest(key: str, rest: bytes) -> bytes:
    return hashlib.sha256(key.encode() + rest).digest()


MAX_MEMORY_BYTES = 4_194_304
_MOST_FILE_BYTES = MAX_BYTES + 1_024
# Subfolders, each with its own share of the size limit: after a result only one subfolder has to be scanned.
_SHELVES = "0123456789abcdef"
BLOCK_BYTES = 4_096
"""What the smallest file takes on a disk. So a limit in bytes also limits the number of files."""


def open_cache(home: Home, settings: CacheSettings, flusher: Flusher | None = None) -> ResultCache | None:
    """Open the home's cache; None if it is disabled, or if other users could write to the home and forge results."""
    if not settings.enabled:
        return None
    try:
        return ResultCache(home.cache, settings, flusher=flusher)
    except HomeError as error:
        log.debug("There is no cache: %s", error)
        return None


class ResultCache:
    """A result that was put is there for the next `get` at once, and on disk when the flusher runs; without a flusher,
    when `write_out` is called. Disk errors and damaged files never raise."""

    def __init__(
        self,
        folder: Path,
        settings: CacheSettings,
        *,
        now: Callable[[], float] = time.time,
        flusher: Flusher | None = None,
    ) -> None:
        self.settings = settings
        self._folder = folder
        self._now = now
        self._flusher = flusher
        self._memory: OrderedDict[str, Stored] = OrderedDict()
        self._memory_bytes = 0
        self._share = settings.max_bytes // len(_SHELVES)
        self._unwritten: dict[str, Stored] = {}
        self._writing = threading.Lock()
        self._has_complained = False

    def get(self, key: str) -> ExecutionOutcome | None:
        """The cached result or None, a fresh copy each time, with `metrics.cached` set."""
        stored = self._memory.get(key)
        if stored is None:
            stored = self._read(key)
            if stored is None:
                return None
            self._remember(key, stored)
        outcome = outcome_of(stored.body) if is_fresh(stored.at, self._now(), self.settings.max_age_s) else None
        if outcome is None:
            self._forget(key)
        else:
            self._memory.move_to_end(key)
        return outcome

    def put(self, key: str, outcome: ExecutionOutcome) -> None:
        """Keep the result, if it is complete, of a deterministic run, and not too large."""
        if not outcome.ok or not outcome.deterministic or outcome.truncated:
            return
        body = body_of(outcome)
        if body is None or taken(len(body) + 1_024) > self._share:
            return
        stored = Stored(self._now(), body)
        self._remember(key, stored)
        with self._writing:
            self._unwritten[key] = stored
        if self._flusher is not None:
            self._flusher.want(self, self.write_out)

    def write_out(self) -> None:
        """Write new results to disk, and delete old ones to make room. Safe from any thread."""
        with self._writing:
            unwritten, self._unwritten = self._unwritten, {}
        try:
            for key, stored in unwritten.items():
                path = self._path(key)
                private_folder(path.parent)
                replace_file(path, file_of(key, stored))
                os.utime(path, (stored.at, stored.at))  # `sweep` uses it; the disk's clock may differ
            for shelf in {key[0] for key in unwritten}:
                self._sweep_shelf(shelf)
        except OSError as error:
            if not self._has_complained:
                self._has_complained = True
                log.warning('Cannot keep results in "%s": %s', self._folder, error.strerror or error)

    def sweep(self) -> None:
        """Delete files that are too old or exceed the limit. `write_out` does it too, in the subfolders it wrote to."""
        for shelf in _SHELVES:
            self._sweep_shelf(shelf)

    @property
    def size(self) -> int:
        """Bytes on disk, with at least one block for each file."""
        return sum(taken(file.size) for shelf in _SHELVES for file in self._files(shelf))

    def _read(self, key: str) -> Stored | None:
        path = self._path(key)
        try:
            # Another process may have put anything there: do not follow a link, and do not wait for a pipe.
            handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                data = os.read(handle, _MOST_FILE_BYTES)
            finally:
                os.close(handle)
        except OSError:
            return None
        stored = stored_of(key, data)
        if stored is None:
            _unlink(path)
        return stored

    def _remember(self, key: str, stored: Stored) -> None:
        previous = self._memory.pop(key, None)
        self._memory_bytes += len(stored.body) - (len(previous.body) if previous is not None else 0)
        self._memory[key] = stored
        while self._memory and self._memory_bytes > min(MAX_MEMORY_BYTES, self.settings.max_bytes):
            self._memory_bytes -= len(self._memory.popitem(last=False)[1].body)

    def _forget(self, key: str) -> None:
        stored = self._memory.pop(key, None)
        if stored is not None:
            self._memory_bytes -= len(stored.body)
        _unlink(self._path(key))

    def _sweep_shelf(self, shelf: str) -> None:
        for name in surplus(self._files(shelf), self._now(), self._share, self.settings.max_age_s):
            _unlink(self._folder / shelf / name)

    def _files(self, shelf: str) -> Iterator[File]:
        with suppress(OSError), os.scandir(self._folder / shelf) as entries:
            for entry in entries:
                # A name that begins with a dot is a file that some process is writing.
                if not entry.name.startswith("."):
                    with suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        yield File(entry.name, found.st_size, found.st_mtime)

    def _path(self, key: str) -> Path:
        return self._folder / key[0] / key


def _unlink(path: Path) -> None:
    with suppress(OSError):
        os.unlink(path)


class File(NamedTuple):
    name: str
    size: int
    at: float


def is_fresh(at: float, now: float, max_age_s: float) -> bool:
    """Whether the time is at most `max_age_s` away, in both directions: a file that a wrong clock has dated into the
    future must not stay for years."""
    return abs(now - at) <= max_age_s


def surplus(files: Iterable[File], now: float, max_bytes: int, max_age_s: float) -> list[str]:
    """The names of the files to delete: those that are too old, and the oldest until the rest fits into `max_bytes`."""
    gone: list[str] = []
    kept = 0
    for file in sorted(files, key=lambda file: (-file.at, file.name)):
        if is_fresh(file.at, now, max_age_s):
            kept += taken(file.size)
            if kept <= max_bytes:
                continue
        gone.append(file.name)
    return gone


def taken(size: int) -> int:
    return max(BLOCK_BYTES, size)
