"""The interface (port) of the audit log, which all processes of a home share, and its errors."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .lines import Record
    from .verdict import Verdict


class AuditError(Exception):
    """The audit cannot be written or read. The message says why and what to do."""


class FactRefused(AuditError, ValueError):
    """The caller gave a fact that is not JSON, or used a name reserved for the record itself."""


_ADVICE = {
    errno.ENOSPC: "make room on the disk",
    errno.EDQUOT: "make room: the user's share of the disk is used up",
    errno.EFBIG: "raise the limit on the size of files",
    errno.EACCES: "make the folder writable for this user, or choose another home",
    errno.EPERM: "make the folder writable for this user, or choose another home",
    errno.EROFS: "mount the disk for writing, or choose another home",
    errno.EMFILE: "raise the limit on open files",
    errno.ENFILE: "the machine has too many open files",
    errno.ENOTDIR: "choose another home: a file stands where a folder should be",
    errno.EEXIST: "choose another home: a file stands where a folder should be",
    errno.EIO: "check the disk",
}


def trouble(action: str, path: Path, error: OSError) -> AuditError:
    """The error in one sentence: what was tried, what the system said, what to do."""
    said = error.strerror or str(error)
    advice = _ADVICE.get(error.errno or 0, "check the folder, or choose another home")
    return AuditError(f'Cannot {action} "{path}": {said}; {advice}')


class Trail(Protocol):
    """A record that `record` has returned survives the end of the process. Records have numbers without gaps, and each
    has the hash of the one before it. All methods raise AuditError when the trail cannot be read or written."""

    def record(self, kind: str, /, **facts: Any) -> Record:
        """Add a record. If it raises, no part of the record is there."""
        ...

    def keep_code(self, code: str) -> str:
        """Return the hash of the code, and keep the code if the settings say so."""
        ...

    def code(self, own_hash: object) -> str | None:
        """The code with this hash, if it was kept."""
        ...

    def records(self, *, last: int | None = None) -> Iterator[Record]:
        """The last `last` records or all, oldest first."""
        ...

    def find(self, seq: int) -> Record | None:
        """The record with this number."""
        ...

    def neuron_changes(self) -> Mapping[str, Mapping[str, Any]]:
        """The facts of the last record about a change of status, of each neuron by its id."""
        ...

    def follow(self, *, last: int = 0) -> Iterator[Record]:
        """The last `last` records, and then each new one from any process. Never ends by itself."""
        ...

    def verify(self) -> Verdict:
        """Read everything and report what is not as it was written."""
        ...

    def close(self) -> None:
        """Flush and close. Never raises."""
        ...
