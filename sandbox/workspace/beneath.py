"""Opening what lies beneath a directory, without following a link: not one that was there, nor one that somebody
puts there at this moment.

Recent Linux resolves a whole path so in one call. Elsewhere each name is opened beneath the descriptor of the one
before it, which is as safe and a little slower.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from functools import cache

from .paths import Parts

# Enough to go on from, without the permission to list.
TRAVERSE = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY
LIST = os.O_RDONLY | os.O_DIRECTORY
# A pipe must not make the opener wait, nor a terminal become the process's own.
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
    """A descriptor for the path beneath `root`. Raises OSError; ELOOP means that a link is or was in the way."""
    return (open_at_once if kernel_resolves() else open_by_steps)(root, parts, flags)


@cache
def kernel_resolves() -> bool:
    """Whether the kernel has the call and lets this process use it: found out by calling it."""
    # The number means something else to other kernels, so that there it must not even be tried.
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
    # Not O_NOFOLLOW: with it a link that is asked to be a directory is "not a directory", and not a link.
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
        # EAGAIN: something was renamed meanwhile, and the kernel could not be sure.
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
        # A link that is asked to be a directory is "not a directory": say what it is, as the kernel does at once.
        if stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise
