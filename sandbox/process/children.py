"""The processes of the host itself: Pythons that take nothing from their surroundings, and pipes to others.

Loaded before anything else of the sandbox when a head start is wanted, so it imports nothing that takes long.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ..contracts import SandboxUnavailable

# As large as an unprivileged process may ask for: a megabyte of context in one write instead of sixteen.
PIPE_BYTES = 1024 * 1024
CLOSING_TIMEOUT_S = 5.0
# Holds `jail/`, which the launcher imports by that name.
PACKAGE = Path(__file__).parent.parent

Three = tuple[int, int, int]


@contextlib.contextmanager
def open_pipes() -> Iterator[tuple[Three, Three]]:
    """Standard input, output and error of a process to be: our ends, which do not block, and its ends, which are
    closed when the block is left. When that is by an exception, all are."""
    opened: list[int] = []
    try:
        try:
            for _ in range(3):
                opened.extend(os.pipe())
        except OSError as error:
            raise SandboxUnavailable(f"Cannot start Deno: no pipe for it ({error.strerror})") from error
        their_in, our_in, our_out, their_out, our_err, their_err = opened
        for descriptor in (our_in, our_out, our_err):
            os.set_blocking(descriptor, False)
        for descriptor in (our_in, our_out):
            with contextlib.suppress(OSError, AttributeError):  # smaller pipes work too, only slower
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        yield (our_in, our_out, our_err), (their_in, their_out, their_err)
    except BaseException:
        for descriptor in opened:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        raise
    for descriptor in (their_in, their_out, their_err):
        os.close(descriptor)


def start_python(*arguments: str, stdin: int, stdout: int) -> subprocess.Popen[bytes]:
    """Start a Python that takes nothing from its surroundings."""
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-B", *arguments],
            bufsize=0,
            stdin=stdin,
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ},
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxUnavailable(f'Cannot start "{sys.executable}": {error}') from error


def start_piped_python(program: str, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a Python program, with pipes to talk to it that do not block."""
    process = start_python(program, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for pipe in pipes_of(process):
        os.set_blocking(pipe, False)
    return process


def pipes_of(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    if process.stdin is None or process.stdout is None:
        raise ValueError("a process without pipes")
    return process.stdin.fileno(), process.stdout.fileno()


def kill_piped(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and let go of its pipes. Returns at once, never raises."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def reap(process: subprocess.Popen[bytes]) -> None:
    """Wait until a process that should end has ended; kill it if it does not. Blocks, but not for ever."""
    try:
        process.wait(CLOSING_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
