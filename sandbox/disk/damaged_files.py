"""Renames or copies damaged files instead of deleting them: parts may be readable, and the cause is not known yet."""

from __future__ import annotations

import filecmp
import os
import shutil
from contextlib import suppress
from itertools import count
from pathlib import Path

from .whole_files import FILE_MODE, flush_folder


def move_aside(path: Path) -> Path:
    """Rename the file to `*.damaged-1` or the next free number, and return its new path."""
    other = next(other for number in count(1) if not os.path.lexists(other := _numbered(path, number)))
    os.rename(path, other)
    flush_folder(path.parent)
    return other


def copy_aside(path: Path) -> None:
    """Copy the file to `*.damaged-1` or the next free number. The file itself stays until it is replaced.

    Only one copy of the same content, however often the replacement fails: else every retry on a full disk would fill
    it further.
    """
    for number in count(1):
        copy = _numbered(path, number)
        try:
            handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        except FileExistsError:
            if _is_same(path, copy):
                return
            continue
        try:
            with path.open("rb") as source, os.fdopen(handle, "wb") as target:
                shutil.copyfileobj(source, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(copy)
            raise
        return


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.damaged-{number}")


def _is_same(path: Path, copy: Path) -> bool:
    """Whether both files have the same content. A copy that cannot be read does not."""
    try:
        filecmp.clear_cache()
        return filecmp.cmp(path, copy, shallow=False)
    except OSError:
        return False
