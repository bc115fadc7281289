"""Starts the host's own Python child processes, isolated from its environment, and opens pipes for all children.

`early_start.py` loads this before anything else of the sandbox, so it imports nothing slow.
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

# The largest pipe that an unprivileged process may ask for: a megabyte of context in one write instead of sixteen.
PIPE_BYTES = 1024 * 1024
CLOSING_TIMEOUT_S = 5.0
# The folder that holds `jail/`: the launcher imports it by that name.
PACKAGE = Path(__file__).parent.parent

Three = tuple[int, int, int]


@contextlib.contextmanager
def open_pipes() -> Iterator[tuple[Three, Three]]:
    """Open stdin, stdout and stderr pipes for a new process: our ends, non-blocking, and its ends. Leaving the block
    closes its ends; an exception closes all of them."""
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
    """Start an isolated Python (`-I`, own session, cwd "/") that inherits no environment but LD_LIBRARY_PATH."""
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
    """Start a Python program with non-blocking pipes to its stdin and stdout."""
    process = start_python(program, *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for pipe in pipes_of(process):
        os.set_blocking(pipe, False)
    return process


def pipes_of(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    if process.stdin is None or process.stdout is None:
        raise ValueError("a process without pipes")
    return process.stdin.fileno(), process.stdout.fileno()


def kill_piped(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and close its pipes. Returns at once, never raises."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()


def reap(process: subprocess.Popen[bytes]) -> None:
    """Wait at most CLOSING_TIMEOUT_S for a process to end, then kill it. Blocks the thread until it is reaped."""
    try:
        process.wait(CLOSING_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
