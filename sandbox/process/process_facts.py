"""Reads facts about processes from Linux's /proc: identity, parent, children. Imports little and never waits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_NAMESPACE = "/proc/self/ns/pid"
_BOOT = "/proc/sys/kernel/random/boot_id"


class Identity(NamedTuple):
    """Identifies one process among all that ever had its pid."""

    pid: int
    started: int
    """In clock ticks since the machine booted."""
    boot: str
    namespace: str
    """The pid namespace: a pid means nothing outside of its container."""


class Stat(NamedTuple):
    """The fields of `/proc/<pid>/stat` that are used here."""

    state: str
    parent: int
    group: int
    started: int

    @property
    def is_dead(self) -> bool:
        return self.state in {"Z", "X"}


def identity_of(pid: int) -> Identity | None:
    """The identity of a live process; None when it is gone, and on a system without /proc."""
    stat = stat_of(pid)
    if stat is None or stat.is_dead:
        return None
    return Identity(pid, stat.started, boot(), namespace())


def stat_of(pid: int) -> Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        # Only what follows the name: the process chooses the name itself, and it may contain ")".
        fields = text.rpartition(")")[2].split()
        return Stat(fields[0], int(fields[1]), int(fields[2]), int(fields[19]))
    except (OSError, ValueError, IndexError):
        return None


def children_of(pid: int) -> list[int]:
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        return [
            int(child)
            for thread in threads
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
        ]
    except FileNotFoundError:
        # Not every kernel has the `children` file.
        numbers = (int(name) for name in os.listdir("/proc") if name.isdecimal())
        return [number for number in numbers if (stat := stat_of(number)) is not None and stat.parent == pid]
    except OSError:
        return []


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def boot() -> str:
    try:
        return Path(_BOOT).read_text().strip()
    except OSError:
        return ""


def namespace() -> str:
    try:
        return os.readlink(_NAMESPACE)
    except OSError:
        return ""
