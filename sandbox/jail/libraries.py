"""Finds the shared libraries that Deno needs to start, by asking the system's dynamic loader."""

from __future__ import annotations

import errno
import os
import re
import select
import signal

# Matches `libc.so.6 => /lib/libc.so.6 (0x00007f…)`, and the line of the loader itself, which has no arrow.
_PATH = re.compile(r"^\t(?:\S+ => )?(/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)

_LOADER_TIMEOUT_MS = 5_000
_MAX_BYTES = 64 * 1024

_DEVICES = ("/dev/null", "/dev/urandom")


def needed_by(program: str) -> list[str]:
    """The shared libraries of the program, including the loader, and two devices. Raises OSError.

    Not the loader's cache, which names every library of the machine: see `search_path`.
    """
    with open(program, "rb") as file:
        if file.read(4) != b"\x7fELF":
            raise OSError(errno.ENOEXEC, "Deno is started by something else, a script perhaps: name the binary itself")
    found = _PATH.findall(_trace(program))
    return [path for path in dict.fromkeys((*found, *_DEVICES)) if os.path.exists(path)]


def search_path(files: list[str], machine: str) -> str:
    """The LD_LIBRARY_PATH that the loader needs without its cache: the folders that it does not search by default."""
    triplet = f"{machine}-linux-gnu"
    known = {root + end for root in ("/lib", "/usr/lib") for end in ("", "64", f"/{triplet}")}
    folders = dict.fromkeys(os.path.dirname(path) for path in files if not path.startswith("/dev/"))
    return ":".join(folder for folder in folders if folder not in known)


def _trace(program: str) -> str:
    # A statically linked program ignores the variable and runs: so it is only asked for its version.
    ours, theirs = os.pipe()
    try:
        null = os.open("/dev/null", os.O_RDWR)
        try:
            actions = [(os.POSIX_SPAWN_DUP2, source, target) for target, source in enumerate((null, theirs, null))]
            environment = {"LD_TRACE_LOADED_OBJECTS": "1"}
            pid = os.posix_spawn(program, [program, "--version"], environment, file_actions=actions)
        finally:
            os.close(null)
            os.close(theirs)
        try:
            return _read(ours)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    finally:
        os.close(ours)


def _read(pipe: int) -> str:
    said = b""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    while poll.poll(_LOADER_TIMEOUT_MS) and len(said) < _MAX_BYTES:
        chunk = os.read(pipe, _MAX_BYTES)
        if not chunk:
            break
        said += chunk
    return said.decode(errors="replace")
