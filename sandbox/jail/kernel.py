"""Linux system calls that Python has no function for, via ctypes. Each raises OSError and says what was tried."""

from __future__ import annotations

import contextlib
import ctypes
import os
from typing import Any

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.syscall.restype = ctypes.c_long

PAGE = os.sysconf("SC_PAGE_SIZE")
PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38

_PROT_READ_WRITE = 0x3
_MAP_PRIVATE_ANONYMOUS_FIXED_NOREPLACE = 0x2 | 0x20 | 0x100000


def call(what: str, result: int) -> int:
    """The result of a C function. Raises OSError from its errno when negative."""
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(what: str, number: int, *arguments: Any) -> int:
    return call(what, _libc.syscall(ctypes.c_long(number), *arguments))


def prctl(what: str, option: int, *arguments: Any) -> None:
    padded = (*arguments, 0, 0, 0, 0)[:4]
    call(what, _libc.prctl(option, *(ctypes.c_ulong(a) if isinstance(a, int) else a for a in padded)))


def empty_bounding_set() -> None:
    """Let no program started from here have a capability. A process that may not do this has none to pass on."""
    with contextlib.suppress(OSError):  # EINVAL after the last capability, EPERM without the right
        for capability in range(64):
            prctl("capabilities", PR_CAPBSET_DROP, capability)


def unshare(flags: int) -> None:
    call("unshare", _libc.unshare(flags))


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, data)]
    call(f"mount {target}", _libc.mount(*texts[:3], ctypes.c_ulong(flags), texts[3]))


def detach_mount(target: str) -> None:
    mnt_detach = 2
    call(f"umount {target}", _libc.umount2(target.encode(), mnt_detach))


def set_host_name(name: str) -> None:
    call("sethostname", _libc.sethostname(name.encode(), len(name)))


def place(data: bytes, address: int) -> None:
    """Map memory and put the data at exactly this address, within one page. Raises OSError."""
    page, flags = address - address % PAGE, _MAP_PRIVATE_ANONYMOUS_FIXED_NOREPLACE
    got = _libc.mmap(ctypes.c_void_p(page), ctypes.c_size_t(PAGE), _PROT_READ_WRITE, flags, -1, ctypes.c_long(0))
    if got != page:
        raise OSError(f"mmap: no memory at {page:#x}")
    ctypes.memmove(address, data, len(data))


def execve_at(address: int, argv: Any, environment: Any) -> None:
    """Exec the program whose path is stored at the address. Never returns; raises OSError."""
    call("execve", _libc.execve(ctypes.c_void_p(address), argv, environment))


def strings(texts: list[str]) -> Any:
    """A null-terminated array of C strings."""
    return (ctypes.c_char_p * (len(texts) + 1))(*(text.encode() for text in texts), None)
