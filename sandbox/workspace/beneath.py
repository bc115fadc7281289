"""Opens paths beneath a directory without following a symlink: neither an existing one, nor one that another process
creates at this moment (a race).

Recent Linux does this for a whole path in one call, `openat2`. Elsewhere each name is opened relative to the descriptor
of the one before it, which is as safe and a little slower.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from functools import cache

from .paths import Parts

# Enough to open entries beneath it, without the permission to list.
TRAVERSE = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
LIST = os.O_RDONLY | os.O_DIRECTORY
# Opening a pipe must not block, and a terminal must not become the controlling terminal of the process.
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY

_TRIES = 100
_OPENAT2 = 437
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_AT_ONCE = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(root: int, parts: Parts, flags: int) -> int:
    """Open the path beneath `root`; return a descriptor. Raises OSError; ELOOP means that a symlink is or was in it."""
    return (open_at_once if kernel_resolves() else open_by_steps)(root, parts, flags)


@cache
def kernel_resolves() -> bool:
    """Whether the kernel has `openat2` and lets this process use it: found out by calling it."""
    # On other systems this number is another call, so it must not even be tried there.
    if sys.platform != "linux":
        return False
    root = os.open("/", TRAVERSE | os.O_CLOEXEC)
    try:
        os.close(open_at_once(root, (), TRAVERSE))
    except (OSError, AttributeError):
        return False
    finally:
        os.close(root)
    return True


def open_at_once(root: int, parts: Parts, flags: int) -> int:
    # Not O_NOFOLLOW: with it, opening a symlink as a directory fails with ENOTDIR instead of ELOOP.
    how = _OpenHow(flags | os.O_CLOEXEC, 0, _AT_ONCE)
    path = "/".join(parts).encode() or b"."
    syscall = _syscall()
    problem = errno.EAGAIN
    for _ in range(_TRIES):
        descriptor = syscall(
            ctypes.c_long(_OPENAT2),
            ctypes.c_int(root),
            ctypes.c_char_p(path),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if descriptor >= 0:
            return int(descriptor)
        problem = ctypes.get_errno()
        # EAGAIN: something was renamed meanwhile (a race), and the kernel could not be sure.
        if problem not in (errno.EINTR, errno.EAGAIN):
            break
    raise OSError(problem, os.strerror(problem))


@cache
def _syscall() -> ctypes._NamedFuncPointer:
    function = ctypes.CDLL(None, use_errno=True).syscall
    function.restype = ctypes.c_long
    return function


def open_by_steps(root: int, parts: Parts, flags: int) -> int:
    descriptor = root
    try:
        for number, name in enumerate(parts or (".",), start=1):
            last = number >= len(parts)
            above = descriptor
            descriptor = _step(above, name, flags if last else TRAVERSE)
            if above != root:
                os.close(above)
    except OSError:
        if descriptor != root:
            os.close(descriptor)
        raise
    return descriptor


def _step(above: int, name: str, flags: int) -> int:
    try:
        return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    except NotADirectoryError:
        # Opening a symlink as a directory fails with ENOTDIR: raise ELOOP instead, as `openat2` does.
        if stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
