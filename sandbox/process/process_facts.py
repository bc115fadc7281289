"""What the system tells of its processes, on Linux. Imports next to nothing and waits for nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

_NAMESPACE = "/proc/self/ns/pid"
_BOOT = "/proc/sys/kernel/random/boot_id"


class Identity(NamedTuple):
    """One process among all that ever had its number."""

    pid: int
    started: int
    """In ticks since the machine was."""
    boot: str
    namespace: str
    """Numbers mean nothing outside of the container that they were given in."""


class Stat(NamedTuple):
    state: str
    parent: int
    group: int
    started: int

    @property
    def is_dead(self) -> bool:
        return self.state in {"Z", "X"}


def identity_of(pid: int) -> Identity | None:
    """None for a process that is gone, and on a system that does not tell."""
    stat = stat_of(pid)
    if stat is None or stat.is_dead:
        return None
    return Identity(pid, stat.started, boot(), namespace())


def stat_of(pid: int) -> Stat | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        # Behind the name, which the process chooses itself.
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
        # Not every kernel has that file.
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
