"""What is damaged is kept: nobody knows yet what happened, and what could still be read from it."""

from __future__ import annotations

import os
import shutil
from itertools import count
from pathlib import Path

from cortex.files import FILE_MODE


def set_aside(path: Path) -> None:
    """Keep a copy beside it, `*.damaged-1` and so on. The file itself stays, until another takes its place."""
    for number in count(1):
        copy = path.with_name(f"{path.name}.damaged-{number}")
        try:
            handle = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        except FileExistsError:
            continue
        with path.open("rb") as source, os.fdopen(handle, "wb") as target:
            shutil.copyfileobj(source, target)
        return
