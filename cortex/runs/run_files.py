"""The files of `runs/` in a home: appends lines, puts tombstones in their place, and deletes what is old.

`<day>.jsonl` is followed by `<day>.2.jsonl` when it is full. Lines are only appended, so that a killed program leaves
at most one torn line, at an end.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox import FileLock, Flusher, append_lines, flush_file, open_lines, private_folder, replace_file

from .details import MAX_LINE_BYTES, RunDetails, entry_of, tombstone

if TYPE_CHECKING:
    from cortex.settings import RunsSettings

    from .details import Entry

RECORDINGS = "recordings"
_NAME = re.compile(r"(\d{4}-\d{2}-\d{2})(?:\.([1-9][0-9]{0,5}))?\Z")
_SUFFIX = ".jsonl"
_MIB = 1_048_576
_DAY_S = 86_400.0
# One day may fill all the room: with parts of this share of it, only the oldest go.
_PARTS = 8
_BLOCK_BYTES = 65_536


def part_names(folder: Path) -> list[str]:
    """The names of the files, without their suffix, oldest first; empty when there is no folder."""
    try:
        names = [name.removesuffix(_SUFFIX) for name in os.listdir(folder) if name.endswith(_SUFFIX)]
    except FileNotFoundError:
        return []
    return sorted((name for name in names if _NAME.match(name)), key=order_of)


def order_of(name: str) -> tuple[str, int]:
    """Sorts the names of files from old to new. Raises ValueError for any other name."""
    found = _NAME.match(name)
    if found is None:
        raise ValueError("expected the name of a file of runs, such as 2026-11-19")
    return found[1], int(found[2] or 1)


def path_of(folder: Path, name: str) -> Path:
    return folder / f"{name}{_SUFFIX}"


def recording_path(folder: Path, id_: str) -> Path:
    return folder / RECORDINGS / f"{id_}.json"


class RunFiles:
    """The files of a home, for all its programs. Raises OSError, and LockBusy. For threads other than the event loop's:
    it waits for the disk."""

    def __init__(
        self,
        folder: Path,
        settings: RunsSettings,
        *,
        now: Callable[[], float] = time.time,
        flusher: Flusher | None = None,
    ) -> None:
        self._folder = folder
        self._settings = settings
        self._now = now
        self._flusher = flusher
        self._lock = FileLock(folder / ".lock")

    def append(self, line: bytes) -> None:
        """Append one line, with its line end."""
        private_folder(self._folder)
        with self._lock.held():
            path = path_of(self._folder, self._current())
            handle = open_lines(path)
            try:
                append_lines(handle, line)
            finally:
                os.close(handle)
        self._want_flush(path)

    def keep_recording(self, id_: str, data: bytes) -> None:
        path = recording_path(self._folder, id_)
        private_folder(path.parent)
        replace_file(path, data)
        self._want_flush(path)

    def forget(self, chosen: Callable[[Entry], bool], *, by: str = "owner", before: float | None = None) -> list[str]:
        """Put a tombstone in place of each chosen run, and delete its recording; on disk when this returns. Returns
        their ids. With `before`, what cannot be read on days before that time goes too: it may hold anything."""
        gone: list[str] = []
        if not self._folder.is_dir():
            return gone
        for name in part_names(self._folder):
            # One file at a time: others append meanwhile.
            with self._lock.held():
                gone += self._forget_in(name, chosen, by, before)
        return gone

    def trim(self) -> None:
        """Delete what is older than the settings say, and the oldest of what is too much."""
        now, files = self._now(), sorted(self._files())
        names = part_names(self._folder)
        newest = path_of(self._folder, names[-1]) if names else None
        left = sum(size for _, size, _ in files)
        for changed_at, size, path in files:
            is_old = now - changed_at > self._settings.days * _DAY_S
            if path != newest and (is_old or left > self._settings.max_mb * _MIB):
                left -= size
                with suppress(FileNotFoundError):  # another program trims too
                    path.unlink()

    def close(self) -> None:
        self._lock.close()

    def _current(self) -> str:
        """The name of the file to append to. Never an older one than there is, if the clock was set back."""
        day = f"{datetime.fromtimestamp(self._now(), UTC):%Y-%m-%d}"
        names = part_names(self._folder)
        name = max((day, *names[-1:]), key=order_of)
        try:
            is_full = path_of(self._folder, name).stat().st_size >= self._settings.max_mb * _MIB // _PARTS
        except FileNotFoundError:
            return name
        day, number = order_of(name)
        return f"{day}.{number + 1}" if is_full else name

    def _forget_in(self, name: str, chosen: Callable[[Entry], bool], by: str, before: float | None) -> list[str]:
        path = path_of(self._folder, name)
        try:
            lines = path.read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            return []
        is_past = before is not None and name[:10] < f"{datetime.fromtimestamp(before, UTC):%Y-%m-%d}"
        gone: list[str] = []
        for at, line in enumerate(lines):
            entry = entry_of(line.rstrip(b"\n"))
            if entry is None and is_past:
                lines[at] = b" " * (len(line) - 1) + b"\n"
            elif isinstance(entry, RunDetails) and chosen(entry):
                lines[at] = tombstone(entry, self._now(), by, len(line))
                gone.append(entry.id)
                if entry.recording is not None:
                    recording_path(self._folder, entry.recording.id).unlink(missing_ok=True)
        if gone or is_past:
            replace_file(path, b"".join(lines), durable=True)
        return gone

    def _files(self) -> Iterator[tuple[float, int, Path]]:
        for folder in (self._folder, self._folder / RECORDINGS):
            with suppress(FileNotFoundError), os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.endswith((_SUFFIX, ".json")) and not entry.name.startswith("."):
                        with suppress(FileNotFoundError):
                            status = entry.stat(follow_symlinks=False)
                            yield status.st_mtime, status.st_size, Path(entry.path)

    def _want_flush(self, path: Path) -> None:
        if self._flusher is not None:
            self._flusher.want(path, partial(_flush_if_there, path))


def _flush_if_there(path: Path) -> None:
    with suppress(FileNotFoundError):
        flush_file(path)


def lines_backwards(handle: int, end: int) -> Iterator[tuple[int, bytes]]:
    """The lines of the file that end before `end`, the last one first, each with its offset and without its line end.
    What follows the last line end is being written, or torn, and is left out; so is a line that is too long."""
    # `data` begins at `start` in the file; the next line to find ends at `stop`, with its line end. -1: not known yet.
    start, data, stop = end, b"", -1
    while True:
        if stop < 0:
            stop = data.rfind(b"\n") + 1 or -1
        before = data.rfind(b"\n", 0, stop - 1) if stop > 0 else -1
        if before >= 0 or (stop > 0 and start == 0):
            line = data[before + 1 : stop - 1]
            if line.strip() and len(line) <= MAX_LINE_BYTES:
                yield start + before + 1, line
            stop = before + 1
            if stop == 0:
                return
            continue
        if start == 0:
            return
        if stop > MAX_LINE_BYTES or (stop < 0 and len(data) > MAX_LINE_BYTES):
            data, stop = b"", -1  # it goes on: the next line end found is that of the line before it
        size = min(_BLOCK_BYTES, start)
        start -= size
        kept = data if stop < 0 else data[:stop]
        data = os.pread(handle, size, start) + kept
        stop = -1 if stop < 0 else size + stop
