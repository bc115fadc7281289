"""Namespaces: a user without rights, a network without interfaces, and a file system with nothing in it but Deno.

The launcher enters them once, and whatever it starts is born there: nothing of this is paid for at a start.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable

from . import kernel

_NEW_USER, _NEW_NET, _NEW_IPC, _NEW_UTS, _NEW_MOUNTS = 0x10000000, 0x40000000, 0x08000000, 0x04000000, 0x00020000
_NOBODY = 65534

_BIND, _RECURSIVE, _PRIVATE, _NOSUID, _NOEXEC = 4096, 16384, 1 << 18, 2, 8
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR = 442
_AT_FDCWD = -100
_AT_RECURSIVE = 0x8000
_MOUNT_ATTR_RDONLY_NOSUID = 0x1 | 0x2

DENO = "/deno"
"""Where the binary is in the new root, whatever its path on this machine."""
STAGE = "/tmp"  # noqa: S108 - not a file there: the new root is mounted over it, where nobody but this process sees it


def enter(*, with_mounts: bool) -> None:
    """Leave the user, network, message queues and host name of the machine; with mounts, its file systems too."""
    user, group = os.getuid(), os.getgid()
    kernel.unshare(_NEW_USER | _NEW_NET | _NEW_IPC | _NEW_UTS | (_NEW_MOUNTS if with_mounts else 0))
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{_NOBODY} {user} 1")
    _write("/proc/self/gid_map", f"{_NOBODY} {group} 1")
    kernel.set_host_name("sandbox")


def change_root(deno: str, libraries: Iterable[str]) -> None:
    """Make a root of the binary and its libraries, read-only, and let go of the old one."""
    kernel.mount("none", "/", None, _RECURSIVE | _PRIVATE)
    kernel.mount("tmpfs", STAGE, "tmpfs", _NOSUID | _NOEXEC, "size=64k,mode=755")
    for source, target in ((deno, DENO), *((path, path) for path in libraries)):
        place = STAGE + target
        os.makedirs(os.path.dirname(place), exist_ok=True)
        _write(place, "")
        kernel.mount(source, place, None, _BIND)
    # Deno asks where it is. It reads nothing else of /proc that it cannot do without.
    os.makedirs(STAGE + "/proc/self")
    os.symlink(DENO, STAGE + "/proc/self/exe")
    os.mkdir(STAGE + "/old")
    kernel.syscall("pivot_root", _PIVOT_ROOT[os.uname().machine], STAGE.encode(), f"{STAGE}/old".encode())
    os.chdir("/")
    kernel.detach_mount("/old")
    os.rmdir("/old")
    attributes = struct.pack("=QQQQ", _MOUNT_ATTR_RDONLY_NOSUID, 0, 0, 0)
    kernel.syscall("mount_setattr", _MOUNT_SETATTR, _AT_FDCWD, b"/", _AT_RECURSIVE, attributes, len(attributes))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
