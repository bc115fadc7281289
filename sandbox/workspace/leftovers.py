"""Recognizes staging folders that an unfinished commit of this user has left.

Other users may be able to make folders in the workspace, and to unpack archives into it: a name proves nothing. They
cannot make a folder that belongs to this user and that only this user can enter. So another user's unfinished commit is
finished only when that user comes back.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat

from .beneath import LIST
from .paths import RESERVED

_NAME = re.compile(re.escape(RESERVED) + "[0-9a-f]{16}")
_ENTRY = re.compile("journal-draft|journal|undo|(new|old)-[0-9]+")
_NOT_OURS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM)


def fresh_name() -> str:
    return RESERVED + secrets.token_hex(8)


def candidates(root: int) -> list[str]:
    """The entries named like a staging folder. Nothing else with a reserved name is ever touched."""
    return sorted(name for name in os.listdir(root) if _NAME.fullmatch(name))


def open_ours(root: int, name: str) -> int | None:
    """Open a staging folder that a commit of this user has left; return a descriptor, or None for any other folder."""
    try:
        # Check before opening: a folder that this user may not open must not make the workspace unusable.
        if not is_private(os.stat(name, dir_fd=root, follow_symlinks=False)):
            return None
        here = open_staging(root, name)
    except OSError as error:
        if error.errno in _NOT_OURS:
            return None
        raise
    try:
        ours = is_private(os.fstat(here)) and all(_is_of_a_commit(here, entry) for entry in os.listdir(here))
    except BaseException:
        os.close(here)
        raise
    if not ours:
        os.close(here)
        return None
    return here


def open_staging(root: int, name: str) -> int:
    return os.open(name, LIST | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)


def is_private(status: os.stat_result) -> bool:
    # A setgid folder passes the setgid bit on to new folders, until the commit clears it.
    mode = stat.S_IMODE(status.st_mode) & ~stat.S_ISGID
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and mode == 0o700


def is_entry(name: str) -> bool:
    """Whether the name is one that a commit uses in its staging folder."""
    return _ENTRY.fullmatch(name) is not None


def _is_of_a_commit(here: int, entry: str) -> bool:
    if not is_entry(entry):
        return False
    if entry.startswith("old-"):
        return True  # it was in the workspace before: it may be of any kind and belong to any user
    status = os.stat(entry, dir_fd=here, follow_symlinks=False)
    if entry.startswith("new-"):
        # A commit by root gives files back to their former owner.
        owned = status.st_uid == os.geteuid() or os.geteuid() == 0
        return owned and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))
    return status.st_uid == os.geteuid() and stat.S_ISREG(status.st_mode)
