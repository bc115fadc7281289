"""The seccomp filter: allows only the system calls that Deno needs, some of them with certain arguments only.

It is an allowlist: a call that is not named does not exist. No file can be opened for writing, no socket made, no
process started, no other process signalled. Deno itself is started behind the filter, so one `execve` must be allowed:
the one whose path lies at an address that is chosen at random for this process and never told to it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

from . import kernel, system_calls


class Fill(Enum):
    """A value that is only known in the new process, and filled in there."""

    PID = auto()
    PATH_LOW = auto()
    PATH_HIGH = auto()


Instruction = tuple[int, int, int, int | Fill]

_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_GREATER, _JUMP_IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x06
_ALLOW = 0x7FFF0000
_KILL_PROCESS = 0x80000000
_FAIL = 0x00050000
_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16
_BYTES = 8
_FILTER_MODE = 2
# Address ranges (lowest, span) that are free in a process: usually, and on machines with only 39-bit addresses.
_RANGES = ((0x1000_0000_0000, 0x5000_0000_0000), (0x10_0000_0000, 0x20_0000_0000))

# Exactly the flags that make a thread. Other flags would give it descriptors, or namespaces, of its own.
_CLONE_A_THREAD = 0x3D0F00
_CLOSE_RANGE_UNSHARE = 2
# Futexes are allowed within the process; shared ones only to wait (for the end of a thread), never to wake: two
# processes that have mapped the same file could signal each other.
_FUTEX_PRIVATE = 128
_FUTEX_WAITS = (0, 9, 0x100, 0x109)
# Higher values of advice are for administrators.
_MADV_COLLAPSE = 25
# O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_TMPFILE: the same on both machines.
_OPEN_TO_WRITE = 0o1 | 0o2 | 0o100 | 0o1000 | 0o20000000
# MAP_SHARED, MAP_GROWSDOWN: RLIMIT_DATA does not count memory of these kinds.
_UNCOUNTED_MEMORY = 0x1 | 0x100
_AF_UNIX = 1
# PR_GET_DUMPABLE, PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ, PR_SET_VMA
_PRCTL = (3, 15, 16, 23, 0x53564D41)
# TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
_IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC: not the commands for locks and for signal owners
_FCNTL = (0, 1, 2, 3, 4, 1030)
_CLOCK_TAI = 11


class Filter(NamedTuple):
    """A compiled filter with gaps for values that only the new process knows."""

    program: bytes
    gaps: tuple[tuple[int, Fill], ...]

    def apply(self, path_address: int) -> None:
        """Put this process behind the filter, for good. The process must have no_new_privs."""
        values = {
            Fill.PID: os.getpid(),
            Fill.PATH_LOW: path_address & 0xFFFFFFFF,
            Fill.PATH_HIGH: path_address >> 32,
        }
        program = bytearray(self.program)
        for offset, fill in self.gaps:
            struct.pack_into("=I", program, offset, values[fill])
        buffer = ctypes.create_string_buffer(bytes(program), len(program))
        header = struct.pack("@HP", len(program) // _BYTES, ctypes.addressof(buffer))
        kernel.prctl("seccomp", kernel.PR_SET_SECCOMP, _FILTER_MODE, header)


def check() -> None:
    """Raises OSError where the kernel has no seccomp filters."""
    try:
        kernel.prctl("seccomp", kernel.PR_SET_SECCOMP, _FILTER_MODE)
    except OSError as error:
        if error.errno != errno.EFAULT:  # EFAULT, "no filter at that address", is the expected answer
            raise


def make_filter(machine: str) -> Filter:
    """Compile the filter. Raises OSError for a machine whose system calls are not known here."""
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no list of system calls for {machine}")
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE_AT),
        (_JUMP_IF_EQUAL, 1, 0, _ARCHITECTURES[machine]),
        (_RETURN, 0, 0, _KILL_PROCESS),
        (_LOAD, 0, 0, _NUMBER_AT),
    ]
    for number in system_calls.allowed(machine).values():
        program += _when(number, [_allow()])
    for name, number in system_calls.conditional(machine).items():
        program += _when(number, _CONDITIONS[name]())
    for number in system_calls.denied(machine).values():
        program += _when(number, [_fail(errno.EPERM)])
    program.append(_fail(errno.ENOSYS))
    return _assembled(program)


def place_path(path: str) -> int:
    """Put the path at a random free address: one of 2^46, and the code needs a fifth of a microsecond per guess."""
    data = path.encode() + b"\0"
    for lowest, span in _RANGES:
        page = int.from_bytes(os.urandom(8), "little") % (span // kernel.PAGE)
        offset = int.from_bytes(os.urandom(4), "little") % (kernel.PAGE - len(data))
        address = lowest + page * kernel.PAGE + offset
        try:
            kernel.place(data, address)
        except OSError:
            continue
        return address
    raise OSError("mmap: no place for the path of Deno")


def _assembled(program: list[Instruction]) -> Filter:
    gaps = tuple((index * _BYTES + 4, k) for index, (*_, k) in enumerate(program) if isinstance(k, Fill))
    packed = (struct.pack("=HBBI", op, yes, no, 0 if isinstance(k, Fill) else k) for op, yes, no, k in program)
    return Filter(b"".join(packed), gaps)


def _when(number: int, block: list[Instruction]) -> list[Instruction]:
    """Run the block for this system call. Every block ends the filter."""
    return [(_JUMP_IF_EQUAL, 0, len(block), number), *block]


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)


def _fail(number: int) -> Instruction:
    return (_RETURN, 0, 0, _FAIL | number)


def _low(argument: int) -> Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS_AT + _BYTES * argument)


def _high(argument: int) -> Instruction:
    return (_LOAD, 0, 0, _ARGUMENTS_AT + _BYTES * argument + 4)


def _one_of(argument: int, *values: int | Fill, error: int = errno.EPERM) -> list[Instruction]:
    """Allow the call only if the argument is one of the values. Compares 32 bits, as the kernel itself does for these
    arguments."""
    block = [_low(argument)]
    for value in values:
        block += [(_JUMP_IF_EQUAL, 0, 1, value), _allow()]
    return [*block, _fail(error)]


def _at_most(argument: int, value: int) -> list[Instruction]:
    return [_low(argument), (_JUMP_IF_GREATER, 1, 0, value), _allow(), _fail(errno.EPERM)]


def _pointer(argument: int, low: int | Fill, high: int | Fill) -> list[Instruction]:
    return [
        _low(argument),
        (_JUMP_IF_EQUAL, 0, 3, low),
        _high(argument),
        (_JUMP_IF_EQUAL, 0, 1, high),
        _allow(),
        _fail(errno.EPERM),
    ]


def _only_if(value: int, block: list[Instruction]) -> list[Instruction]:
    """Run the block if the loaded word equals the value."""
    return [(_JUMP_IF_EQUAL, 0, len(block), value), *block, _fail(errno.EPERM)]


def _without(argument: int, bits: int) -> list[Instruction]:
    return [_low(argument), (_JUMP_IF_ANY_BIT, 1, 0, bits), _allow(), _fail(errno.EPERM)]


def _if_any(bits: int, block: list[Instruction]) -> list[Instruction]:
    """Run the block if the loaded word has one of the bits."""
    return [(_JUMP_IF_ANY_BIT, 0, len(block), bits), *block]


_CONDITIONS: dict[str, Callable[[], list[Instruction]]] = {
    "open": lambda: _without(1, _OPEN_TO_WRITE),
    "openat": lambda: _without(2, _OPEN_TO_WRITE),
    "clone": lambda: _one_of(0, _CLONE_A_THREAD),
    "futex": lambda: [_low(1), *_if_any(_FUTEX_PRIVATE, [_allow()]), *_one_of(1, *_FUTEX_WAITS)],
    "close_range": lambda: _without(2, _CLOSE_RANGE_UNSHARE),
    "madvise": lambda: _at_most(2, _MADV_COLLAPSE),
    # Used by locks with waiters. Always answers 0, the default, whichever process is asked about.
    "sched_getparam": lambda: [_fail(0)],
    "sched_getscheduler": lambda: [_fail(0)],
    "execve": lambda: _pointer(0, Fill.PATH_LOW, Fill.PATH_HIGH),
    "kill": lambda: _one_of(0, Fill.PID),
    "tgkill": lambda: _one_of(0, Fill.PID),
    "prctl": lambda: _one_of(0, *_PRCTL),
    "mmap": lambda: _without(3, _UNCOUNTED_MEMORY),
    # Only about itself: an answer about other pids would reveal which processes exist.
    "getpgid": lambda: _one_of(0, 0, Fill.PID),
    "getsid": lambda: _one_of(0, 0, Fill.PID),
    "getpriority": lambda: _one_of(1, 0, Fill.PID),
    # A thread asks about itself by its own thread id, which is refused; it takes ENOSYS for an old kernel.
    "sched_getaffinity": lambda: _one_of(0, 0, Fill.PID, error=errno.ENOSYS),
    # Only the system's clocks and its own: the clock of another process would reveal that it exists and how busy it is.
    "clock_gettime": lambda: _at_most(0, _CLOCK_TAI),
    "clock_getres": lambda: _at_most(0, _CLOCK_TAI),
    "clock_nanosleep": lambda: _at_most(0, _CLOCK_TAI),
    # Only to read a limit, not to set one.
    "prlimit64": lambda: [_low(0), *_only_if(0, _pointer(2, 0, 0))],
    "ioctl": lambda: _one_of(1, *_IOCTL),
    "fcntl": lambda: _one_of(1, *_FCNTL),
    # Only a pair connected to itself, which Deno's runtime uses to wake up; nothing can be sent elsewhere.
    "socketpair": lambda: _one_of(0, _AF_UNIX),
    "sendto": lambda: _pointer(4, 0, 0),
}
