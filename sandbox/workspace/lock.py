"""Locks a folder: one commit at a time, also between processes. The kernel releases the lock when its holder dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import WorkspaceBusy, WorkspaceError


@contextmanager
def locked(root: int, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock of the folder. Raises WorkspaceBusy at once when another process has it: the caller waits."""
    try:
        fcntl.flock(root, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise WorkspaceBusy("The workspace is being committed to by another run or process") from error
    except OSError as error:
        raise WorkspaceError(f"Cannot lock the workspace: {error.strerror}") from error
    try:
        yield
    finally:
        fcntl.flock(root, fcntl.LOCK_UN)
