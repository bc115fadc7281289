"""Decides whether the machine has enough memory for one more run. Without this, all runs together could take more than
there is, and the kernel's out-of-memory killer could end any process, even the host."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

# Kept free for the host and the other programs on the machine.
KEPT_BYTES = 64 * 1024 * 1024

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def has_room(wanted_bytes: int, promised_bytes: Iterable[int], available_bytes: int | None) -> bool:
    """Whether one more run fits, after what other runs were promised and have not taken yet is subtracted. True where
    the system does not report what is available."""
    if available_bytes is None:
        return True
    return available_bytes - sum(promised_bytes) >= wanted_bytes + KEPT_BYTES


def surely_has_room(wanted_bytes: int, others: int) -> bool:
    """A quick check (a microsecond): True when wholly unused memory suffices for all runs. False decides nothing."""
    try:
        free_bytes = os.sysconf("SC_AVPHYS_PAGES") * _PAGE_BYTES
    except (ValueError, OSError):
        return False
    return limited_group() is None and free_bytes >= (others + 1) * wanted_bytes + KEPT_BYTES


def available_bytes() -> int | None:
    """The memory that is available on the machine or in this process's cgroup, whichever is less; None where the system
    does not report it."""
    group = limited_group()
    found = (_of_machine(Path("/proc/meminfo")), None if group is None else _of_group(group))
    return min((size for size in found if size is not None), default=None)


def _of_machine(meminfo: Path) -> int | None:
    try:
        with meminfo.open("rb") as file:
            _, found, rest = file.read(4096).partition(b"\nMemAvailable:")
    except OSError:
        return None
    return int(rest.split(None, 1)[0]) * 1024 if found else None


def _of_group(group: Path) -> int | None:
    """Available memory of a cgroup: the kernel kills a process of a full group, however much the machine has left."""
    try:
        most = (group / "memory.max").read_bytes().strip()
        if most == b"max":
            return None
        used = int((group / "memory.current").read_bytes())
        # File cache, which the kernel can drop at any time.
        _, found, rest = (b"\n" + (group / "memory.stat").read_bytes()).partition(b"\ninactive_file ")
        return int(most) - used + (int(rest.split(None, 1)[0]) if found else 0)
    except (OSError, ValueError):
        return None


@cache
def limited_group(proc: Path = Path("/proc"), root: Path = Path("/sys/fs/cgroup")) -> Path | None:
    """The innermost cgroup of this process with a memory limit; None where there is none. Cached: a process stays in
    its group."""
    try:
        groups = (proc / "self/cgroup").read_bytes().splitlines()
        line = next(line for line in groups if line.startswith(b"0::"))
    except (OSError, StopIteration):
        return None
    group = root / line[3:].decode(errors="replace").strip("/")
    for one in (group, *group.parents):
        if one == root.parent:
            return None
        try:
            if (one / "memory.max").read_bytes().strip() != b"max":
                return one
        except OSError:
            continue
    return None
