"""Results in a folder, and those used last in memory. All that can go wrong here is that something runs once more.

Any number of processes may share the folder: files are replaced whole, and a file that another has deleted is one that
is not there.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cortex.home import Home, HomeError
from sandbox import private_folder, replace_file

from .room import File, is_fresh, surplus, taken
from .stored import MAX_BYTES, Stored, body_of, file_of, outcome_of, stored_of

if TYPE_CHECKING:
    from cortex.settings import CacheSettings
    from sandbox import ExecutionOutcome, Flusher

log = logging.getLogger("motor_cortex")

MAX_MEMORY_BYTES = 4_194_304
_MOST_FILE_BYTES = MAX_BYTES + 1_024
# Each has its share of the room and is kept within it alone: so nobody need look through all files after each result.
_SHELVES = "0123456789abcdef"


def open_cache(home: Home, settings: CacheSettings, flusher: Flusher | None = None) -> ResultCache | None:
    """None where it is switched off, or the home is no safe place for it: others could put words into its results."""
    if not settings.enabled:
        return None
    try:
        return ResultCache(home.cache, settings, flusher=flusher)
    except HomeError as error:
        log.debug("There is no cache: %s", error)
        return None


class ResultCache:
    """What was put is there for the next `get` at once, and on disk when the flusher comes round to it; without one,
    when `write_out` is called. Nothing here raises for a disk or for what is found on it."""

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
        """The result that was put there, each time as values of its own; `metrics.cached` is set."""
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
        """Keep it, if it is a whole result of a run that gives the same each time, and has room."""
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
        """Bring to disk what is not there yet, and make room for it. Any thread may do it."""
        with self._writing:
            unwritten, self._unwritten = self._unwritten, {}
        try:
            for key, stored in unwritten.items():
                path = self._path(key)
                private_folder(path.parent)
                replace_file(path, file_of(key, stored))
                os.utime(path, (stored.at, stored.at))  # by which it is swept, also with another clock than the disk's
            for shelf in {key[0] for key in unwritten}:
                self._sweep_shelf(shelf)
        except OSError as error:
            if not self._has_complained:
                self._has_complained = True
                log.warning('Cannot keep results in "%s": %s', self._folder, error.strerror or error)

    def sweep(self) -> None:
        """Delete what is too old or too much. `write_out` does it too, where it has written."""
        for shelf in _SHELVES:
            self._sweep_shelf(shelf)

    @property
    def size(self) -> int:
        """Bytes on disk, counted as a disk counts them."""
        return sum(taken(file.size) for shelf in _SHELVES for file in self._files(shelf))

    def _read(self, key: str) -> Stored | None:
        path = self._path(key)
        try:
            # Whatever somebody has put there: a link is not followed, and a pipe not waited for.
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
                # What begins with a dot is being written, by whomever.
                if not entry.name.startswith("."):
                    with suppress(FileNotFoundError):
                        found = entry.stat(follow_symlinks=False)
                        yield File(entry.name, found.st_size, found.st_mtime)

    def _path(self, key: str) -> Path:
        return self._folder / key[0] / key


def _unlink(path: Path) -> None:
    with suppress(OSError):
        os.unlink(path)
