"""The errors of the audit, in words that say what to do."""

from __future__ import annotations

import errno
from pathlib import Path


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
