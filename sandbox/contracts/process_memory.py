"""Reads the memory and CPU time of a process from the operating system; 0 or None where it does not report them."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

_PAGE = os.sysconf("SC_PAGE_SIZE")
MIB = 1024 * 1024
_STATUS_BYTES = 4096


class Look(NamedTuple):
    """One measurement of a running process."""

    kernel_bytes: int = 0
    """Memory that the kernel holds for it and no limit of the process counts: page tables and swapped-out pages."""
    threads: int = 0
    is_headless: bool = False
    """Its main thread has ended while others go on: the kernel then no longer reports its memory."""


class ProcessStatus:
    """Reads `/proc/<pid>/status`. The file is opened in advance, because opening costs as much as reading."""

    _status = -1

    def __init__(self, pid: int | None) -> None:
        try:
            if pid:
                self._status = os.open(f"/proc/{pid}/status", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            pass  # the process is gone

    def peak_mb(self) -> float:
        """The peak resident memory of the process; 0 when unknown, as after its end."""
        return _field(self._read(), b"VmHWM") / 1024

    def look(self) -> Look:
        status = self._read()
        kernel_bytes = (_field(status, b"VmPTE") + _field(status, b"VmSwap")) * 1024
        threads = _field(status, b"Threads")
        return Look(kernel_bytes, threads, threads > 1 and b"\nState:\tZ" in status)

    def close(self) -> None:
        if self._status >= 0:
            os.close(self._status)
            self._status = -1

    def __del__(self) -> None:
        self.close()

    def _read(self) -> bytes:
        """The whole file: when the user is in many groups, the list of them makes it longer than one read."""
        status = b""
        try:
            while self._status >= 0 and (more := os.pread(self._status, _STATUS_BYTES, len(status))):
                status += more
                if len(more) < _STATUS_BYTES:
                    break
        except OSError:
            return b""
        return status


def _field(status: bytes, name: bytes) -> int:
    # Match at the start of a line only: the first line holds a name that the process chooses itself.
    _, found, rest = status.partition(b"\n%b:" % name)
    number = rest.split(None, 1)[0] if found else b""
    return int(number) if number.isdigit() else 0


def cpu_s(pid: int | None) -> float | None:
    """CPU time of all threads of the process so far, including ended ones; None when unknown, as when the process is
    gone. Uses a system call and no file: two microseconds."""
    if pid is None or sys.platform != "linux":
        return None
    try:
        return time.clock_gettime((~pid << 3) | 2)  # as clock_getcpuclockid(3) makes it
    except OSError:
        return None


def private_bytes(pid: int | None) -> int:
    """Private resident memory of the process, as exactly as this system reports it; 0 where it does not."""
    return _private_bytes(pid) if pid else 0


def _from_proc(pid: int) -> int:
    """Resident memory without shared pages, such as those of Deno's binary."""
    try:
        with open(f"/proc/{pid}/statm", "rb") as statm:
            fields = statm.read().split()
    except OSError:
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE


def _from_libproc(library: Any) -> Callable[[int], int]:
    """For macOS: all resident memory. The caller subtracts what was resident at the start."""
    task_info, size = 4, 96

    def read(pid: int) -> int:
        info = ctypes.create_string_buffer(size)
        if library.proc_pidinfo(pid, task_info, ctypes.c_uint64(0), info, size) != size:
            return 0
        _, resident = struct.unpack_from("=QQ", info)
        return int(resident)

    return read


def choose_reader(proc: Path, library: Any) -> Callable[[int], int]:
    """Choose by what exists on this machine, not by the name of the system."""
    if (proc / "self/statm").exists():
        return _from_proc
    return _from_libproc(library) if hasattr(library, "proc_pidinfo") else lambda _: 0


_private_bytes = choose_reader(Path("/proc"), ctypes.CDLL(None))
