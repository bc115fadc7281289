"""Changes of files that wait for their checkpoint: written down before it, made after it, then forgotten.

A process that dies before the checkpoint leaves a file here that no saved task names: it is thrown away. One that dies
after the checkpoint leaves one that a saved task names by its hash: the next process makes the changes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sandbox import flush_folder, private_folder, replace_file

MAX_BYTES = 64 * 1_048_576
"""Of the changes of one task. A workspace allows fewer, unless its limits were raised."""


class KeptFiles:
    """The changes of all runs, in a folder of the home. All methods read or write the disk, and raise OSError."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def put(self, run: str, task: str, attempt: int, data: bytes) -> str:
        """Keep the changes; on disk when it returns. Returns their hash. Raises ValueError if they are too long."""
        if len(data) > MAX_BYTES:
            raise ValueError(f"the changes of files have {len(data)} bytes; at most {MAX_BYTES} can be kept")
        folder = self._of(run)
        for path in (self._folder, folder):
            private_folder(path)
        replace_file(folder / f"{task}.{attempt}", data, durable=True)
        flush_folder(self._folder)
        return hashlib.sha256(data).hexdigest()

    def get(self, run: str, task: str, attempt: int) -> bytes | None:
        """None if there are none: they were made, or never kept."""
        try:
            with open(self._of(run) / f"{task}.{attempt}", "rb") as file:
                return file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return None

    def forget(self, run: str, task: str, attempt: int) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._of(run) / f"{task}.{attempt}")

    def clear(self, run: str) -> None:
        """Forget all that is kept for the run, also what a process that died has written only in part."""
        folder = self._of(run)
        with suppress(FileNotFoundError):
            for name in os.listdir(folder):
                with suppress(FileNotFoundError):
                    os.unlink(folder / name)
            os.rmdir(folder)

    def discard(self, run: str) -> None:
        """Throw away the changes that are kept for the run. `all` names their tasks all the same: they are not made."""
        for task, attempt in list(self.all(run)):
            replace_file(self._of(run) / f"{task}.{attempt}", b"", durable=False)

    def all(self, run: str) -> Iterator[tuple[str, int]]:
        """Task and attempt of all that is kept for the run."""
        try:
            names = sorted(os.listdir(self._of(run)))
        except FileNotFoundError:
            return
        for name in names:
            task, _, attempt = name.rpartition(".")
            if task and attempt.isdecimal():
                yield task, int(attempt)

    def _of(self, run: str) -> Path:
        return self._folder / hashlib.sha256(run.encode(errors="replace")).hexdigest()[:32]
