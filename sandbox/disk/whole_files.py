"""Makes private folders and replaces whole files atomically. Imports little, because the kill switch is written with
this and must not wait for slow imports.

Data that `os.write` has accepted survives the end of this process, however it ends. To survive a power cut it must also
be flushed: `durable=True`.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_UNFINISHED = ".cortex-new"
_ABANDONED_S = 3600.0


def private_folder(path: Path) -> Path:
    """Create the folder and its missing parents, accessible only to their owner; return the folder."""
    try:
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    except FileNotFoundError:
        # Not `parents=True`: that would create the parents with access for all users.
        private_folder(path.parent)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    return path


def replace_file(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Replace the file atomically: a reader finds the old bytes or the new ones, never a part."""
    _sweep(path.parent)
    name = path.parent / f".{path.name}.{os.urandom(8).hex()}{_UNFINISHED}"
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    if durable:
        flush_folder(path.parent)


def read_private(path: Path, most: int, *, close: bool = False) -> bytes | None:
    """Read at most `most` bytes; None when there is no file. With `close`, first take all access from other users.
    Raises OSError for a symbolic link."""
    try:
        with _opened(path, os.O_NOFOLLOW) as handle:
            if close:
                os.fchmod(handle, FILE_MODE)
            return os.read(handle, most)
    except FileNotFoundError:
        return None


_swept: dict[Path, float] = {}


def _sweep(folder: Path) -> None:
    """Delete temporary files that killed processes have left in the folder; at most once an hour.

    Only files older than an hour: a younger one may belong to a replacement in progress.
    """
    if time.monotonic() - _swept.get(folder, -math.inf) < _ABANDONED_S:
        return
    _swept[folder] = time.monotonic()
    sweep_unfinished(folder, older_than_s=_ABANDONED_S)


def sweep_unfinished(folder: Path, *, older_than_s: float) -> None:
    """Delete temporary files of unfinished replacements. A caller who knows that none is in progress may pass 0."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(".") and entry.name.endswith(_UNFINISHED):
                with suppress(OSError):
                    if time.time() - entry.stat(follow_symlinks=False).st_mtime >= older_than_s:
                        os.unlink(entry)


def flush_file(path: Path) -> None:
    """Flush everything written to the file, by any process, to the disk (fsync)."""
    with _opened(path) as handle:
        os.fsync(handle)


def flush_folder(path: Path) -> None:
    """Flush the folder to the disk (fsync), and with it the names of new files in it."""
    with _opened(path, os.O_DIRECTORY) as handle:
        os.fsync(handle)


@contextmanager
def _opened(path: Path, flags: int = 0) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        yield handle
    finally:
        os.close(handle)
