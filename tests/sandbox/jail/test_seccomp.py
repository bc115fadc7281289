"""The seccomp filter, run by a small BPF interpreter: 32-bit loads, comparisons, bit tests, returns."""

from __future__ import annotations

import errno
import struct

import pytest

from sandbox.jail.seccomp import Fill, make_filter
from sandbox.jail.system_calls import allowed, conditional, denied

ALLOW, KILL = 0x7FFF0000, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
PID, PATH = 4321, 0x1234_5678_9000


def judge(machine: str, number: int, *arguments: int, architecture: int | None = None) -> int:
    made = make_filter(machine)
    program = bytearray(made.program)
    values = {Fill.PID: PID, Fill.PATH_LOW: PATH & 0xFFFFFFFF, Fill.PATH_HIGH: PATH >> 32}
    for offset, fill in made.gaps:
        struct.pack_into("=I", program, offset, values[fill])
    padded = [argument & 0xFFFFFFFFFFFFFFFF for argument in (*arguments, 0, 0, 0, 0, 0, 0)[:6]]
    data = struct.pack("=IIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *padded)
    at = accumulator = 0
    while True:
        operation, yes, no, k = struct.unpack_from("=HBBI", program, at * 8)
        at += 1
        match operation:
            case 0x20:
                accumulator = struct.unpack_from("=I", data, k)[0]
            case 0x15:
                at += yes if accumulator == k else no
            case 0x25:
                at += yes if accumulator > k else no
            case 0x45:
                at += yes if accumulator & k else no
            case 0x06:
                return k


def fails(number: int) -> int:
    return 0x00050000 | number


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_what_is_not_named_does_not_exist(machine):
    named = {**allowed(machine), **conditional(machine), **denied(machine)}
    assert len(named) == len(set(named.values()))
    for number in range(600):
        if number not in named.values():
            assert judge(machine, number) == fails(errno.ENOSYS)
    assert all(judge(machine, number) == ALLOW for number in allowed(machine).values())
    assert all(judge(machine, number) == fails(errno.EPERM) for number in denied(machine).values())


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_another_architecture_is_the_end(machine):
    assert judge(machine, 0, architecture=0x40000003) == KILL
    assert judge(machine, 0x40000000 + 39) == fails(errno.ENOSYS)  # the x32 calls of x86_64


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "arguments", "is_allowed"),
    [
        ("openat", (-100, 0, 0), True),
        ("openat", (-100, 0, 0o2000000), True),  # to read, closed on exec
        ("openat", (-100, 0, 0o1), False),
        ("openat", (-100, 0, 0o2), False),
        ("openat", (-100, 0, 0o100), False),
        ("openat", (-100, 0, 0o1000), False),
        ("openat", (-100, 0, 0o20200000), False),
        ("clone", (0x3D0F00,), True),  # a thread
        ("clone", (0x3D0F00 & ~0x400,), False),  # with descriptors of its own
        ("clone", (0x3D0F00 | 0x20000,), False),  # with mounts of its own
        ("close_range", (3, 9, 0), True),
        ("close_range", (3, 9, 2), False),
        ("madvise", (0, 4096, 4), True),
        ("madvise", (0, 4096, 100), False),
        ("futex", (0, 129), True),  # waking its own threads
        ("futex", (0, 0), True),
        ("futex", (0, 1), False),  # waking another process that has mapped the same memory
        ("clone", (17,), False),  # a process
        ("clone", (0x4111,), False),  # vfork
        ("execve", (PATH,), True),
        ("execve", (PATH + 1,), False),
        ("execve", (PATH & 0xFFFFFFFF,), False),
        ("execve", (0,), False),
        ("kill", (PID, 9), True),
        ("kill", (PID + 1, 9), False),
        ("kill", (0, 9), False),
        ("kill", (-1, 9), False),
        ("kill", (-PID, 9), False),
        ("tgkill", (PID, 5, 6), True),
        ("tgkill", (1, 1, 6), False),
        ("prctl", (15,), True),
        ("prctl", (1,), False),  # the signal at its parent's death
        ("prctl", (4,), False),
        ("mmap", (0, 4096, 3, 0x22), True),
        ("mmap", (0, 4096, 3, 0x21), False),  # shared
        ("mmap", (0, 4096, 3, 0x122), False),  # growing like a stack
        ("getpgid", (0,), True),
        ("getpgid", (PID,), True),
        ("getpgid", (1,), False),
        ("getsid", (1,), False),
        ("getpriority", (0, 0), True),
        ("getpriority", (0, 1), False),
        ("prlimit64", (0, 7, 0), True),
        ("prlimit64", (1, 7, 0), False),
        ("prlimit64", (0, 7, 0x7000), False),
        ("prlimit64", (0, 7, 0x7000_0000_0000), False),
        ("ioctl", (1, 0x5421), True),
        ("ioctl", (1, 0x5412), False),  # typing into a terminal
        ("fcntl", (1, 3), True),
        ("fcntl", (1, 8), False),  # sets which process gets signals
        ("fcntl", (1, 6), False),  # a lock, that another process could see
        ("clock_gettime", (1,), True),
        ("clock_gettime", (((~PID) << 3) | 2,), False),  # the time that another process took
        ("clock_nanosleep", (-6,), False),
        ("socketpair", (1,), True),
        ("socketpair", (2,), False),
        ("sendto", (5, 0, 0, 0, 0), True),
        ("sendto", (5, 0, 0, 0, 0x7000), False),
    ],
)
def test_some_calls_depend_on_their_arguments(machine, name, arguments, is_allowed):
    number = conditional(machine)[name]
    assert judge(machine, number, *arguments) == (ALLOW if is_allowed else fails(errno.EPERM))


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize("name", ["sched_getparam", "sched_getscheduler"])
def test_some_calls_are_answered_the_same_whoever_is_meant(machine, name):
    assert judge(machine, conditional(machine)[name], 1) == fails(0)


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_a_thread_may_not_ask_which_processors_another_process_has(machine):
    number = conditional(machine)["sched_getaffinity"]
    assert [judge(machine, number, who) for who in (0, PID, 1)] == [ALLOW, ALLOW, fails(errno.ENOSYS)]


def test_of_a_machine_that_is_not_known_there_is_no_filter():
    with pytest.raises(OSError, match="no list of system calls for riscv64"):
        make_filter("riscv64")
