"""What is damaged is kept: nobody knows yet what happened, and what could still be read from it."""

from __future__ import annotations

import os
import shutil
from itertools import count
from pathlib import Path

from cortex.files import FILE_MODE


def set_aside(path: Path) -> None:
    """Give what is there a second name, `*.damaged-1` and so on, and leave it in its place: it is evidence."""
    for number in count(1):
        other = path.with_name(f"{path.name}.damaged-{number}")
        try:
            os.link(path, other)
        except FileExistsError:
            continue
        except OSError:  # a file system without second names
            shutil.copyfile(path, other)
            other.chmod(FILE_MODE)
        return
