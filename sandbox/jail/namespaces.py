"""Namespace and root layers: a user without rights, a network without interfaces, and a file system with only Deno.

The launcher enters them once, and every process that it starts is born there: a start costs nothing extra.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterable

from . import kernel
from .layers import DENO

_NEW_USER, _NEW_NET, _NEW_IPC, _NEW_UTS, _NEW_MOUNTS = 0x10000000, 0x40000000, 0x08000000, 0x04000000, 0x00020000
_NOBODY = 65534

_BIND, _RECURSIVE, _PRIVATE, _NOSUID, _NOEXEC = 4096, 16384, 1 << 18, 2, 8
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_ATTR_RDONLY_NOSUID = 0x1 | 0x2

# The new root is mounted over one of these; only this process and its children see it.
_STAGES = ("/tmp", "/mnt", "/opt", "/usr")  # noqa: S108 - no file is made there


def enter(*, with_mounts: bool) -> None:
    """Leave the machine's user, network, IPC and host name namespaces; with mounts, its mount namespace too."""
    user, group = os.getuid(), os.getgid()
    kernel.unshare(_NEW_USER | _NEW_NET | _NEW_IPC | _NEW_UTS | (_NEW_MOUNTS if with_mounts else 0))
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{_NOBODY} {user} 1")
    _write("/proc/self/gid_map", f"{_NOBODY} {group} 1")
    kernel.set_host_name("sandbox")


def change_root(deno: str, libraries: Iterable[str]) -> None:
    """Make a read-only root of the binary and its libraries, and detach the old root."""
    # Opened first: the new mount may hide them, and the files that were checked are the ones that are bound.
    sources = [(os.open(path, os.O_PATH | os.O_CLOEXEC), os.path.normpath(path)) for path in (deno, *libraries)]
    stage = next((path for path in _STAGES if os.path.isdir(path)), None)
    if stage is None:
        raise FileNotFoundError(errno.ENOENT, f"there is none of {', '.join(_STAGES)} to mount a root over")
    kernel.mount("none", "/", None, _RECURSIVE | _PRIVATE)
    kernel.mount("tmpfs", stage, "tmpfs", _NOSUID | _NOEXEC, "size=64k,mode=755")
    for number, (descriptor, path) in enumerate(sources):
        place = stage + (DENO if number == 0 else path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        _write(place, "")
        kernel.mount(f"/proc/self/fd/{descriptor}", place, None, _BIND)
        os.close(descriptor)
    # Deno reads the path of its own binary here. It needs nothing else of /proc.
    os.makedirs(stage + "/proc/self")
    os.symlink(DENO, stage + "/proc/self/exe")
    os.mkdir(stage + "/old")
    kernel.syscall("pivot_root", _PIVOT_ROOT[os.uname().machine], stage.encode(), f"{stage}/old".encode())
    os.chdir("/")
    kernel.detach_mount("/old")
    os.rmdir("/old")
    attributes = struct.pack("=QQQQ", _MOUNT_ATTR_RDONLY_NOSUID, 0, 0, 0)
    kernel.syscall("mount_setattr", _MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, attributes, len(attributes))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
