"""Starts the launcher and Deno early, so that both load while the host is still importing its own modules."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self

from ..contracts import SandboxUnavailable
from ..jail import Layer
from .children import PACKAGE, Three, open_pipes, reap, start_python
from .process_notes import NOT_NOTED, Running

if TYPE_CHECKING:
    from ..ports import SandboxSettings
    from .command import Command

LAUNCHER = "import sys; sys.path.append(sys.argv[1]); from jail.launcher import main; main()"
FIRST_ID = 1


def can_fork_serve() -> bool:
    """Whether this system has what the launcher needs."""
    has_calls = hasattr(os, "pidfd_open") and hasattr(socket, "SOCK_SEQPACKET")
    # In a frozen program, `sys.executable` is that program and not a Python.
    has_python = bool(sys.executable) and not getattr(sys, "frozen", False)
    return has_calls and has_python and Path("/proc/self/status").exists()


def start_launcher() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Start a launcher that waits for its order; return it and the socket to it. Raises SandboxUnavailable."""
    try:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    except OSError as error:
        raise SandboxUnavailable(f"Cannot start the launcher: no socket for it ({error.strerror})") from error
    with theirs:
        try:
            program = ("-S", "-c", LAUNCHER, str(PACKAGE))
            return start_python(*program, stdin=theirs.fileno(), stdout=subprocess.DEVNULL), ours
        except SandboxUnavailable:
            ours.close()
            raise


def order_for(command: Command, layers: Collection[Layer], settings: SandboxSettings) -> bytes:
    """The first message to the launcher: the command to start, and the layers and CPU limit to put it behind."""
    order = {
        "binary": str(command.binary),
        "argv": command.argv,
        "environment": dict(command.environment),
        "layers": sorted(layers),
        "cpu_seconds": settings.max_cpu_s,
    }
    return json.dumps(order).encode()


class Ahead(NamedTuple):
    """What a head start has started: the launcher, and our ends of its first process's pipes."""

    launcher: subprocess.Popen[bytes]
    server: socket.socket
    pipes: Three


class HeadStart:
    """A head start for a program that runs one script and exits. A context manager: leaving it ends what the runtime
    has not taken.

    If it fails, or was ordered with other settings than the runtime wants, the runtime starts its own as usual.
    """

    def __init__(self) -> None:
        self._launcher: subprocess.Popen[bytes] | None = None
        self._server: socket.socket | None = None
        self._order = b""
        self._running = NOT_NOTED
        self._pipes: Three | None = None

    def __enter__(self) -> Self:
        if can_fork_serve():
            with suppress(SandboxUnavailable):  # the runtime will meet the same error and report it
                self._launcher, self._server = start_launcher()
        return self

    def order(self, settings: SandboxSettings, running: Running = NOT_NOTED) -> None:
        """Start Deno with these settings. Errors are ignored here: the runtime will meet and report them."""
        from .command import deno_command, find_deno  # noqa: PLC0415 - it imports the settings, which load slowly

        if self._server is None or self._launcher is None or self._pipes is not None:
            return
        self._running = running
        try:
            order = order_for(deno_command(find_deno(settings), settings), tuple(Layer), settings)
            running.note(self._launcher.pid)
            self._server.send(order)
            with open_pipes() as (ours, theirs):
                socket.send_fds(self._server, [json.dumps({"do": "start", "id": FIRST_ID}).encode()], theirs)
        except (SandboxUnavailable, OSError):
            return
        self._order, self._pipes = order, ours

    def take(self, order: bytes) -> Ahead | None:
        """Hand over what was started, if the order is the same; else None. From then on it belongs to the caller."""
        if self._launcher is None or self._server is None or self._pipes is None or order != self._order:
            return None
        ahead = Ahead(self._launcher, self._server, self._pipes)
        self._launcher = self._server = self._pipes = None
        return ahead

    def __exit__(self, *exc: object) -> None:
        if self._server is not None:
            self._server.close()  # ends the launcher, and with it everything it has started
        for pipe in self._pipes or ():
            os.close(pipe)
        if self._launcher is not None:
            reap(self._launcher)
            self._running.forget(self._launcher.pid)
        self._launcher = self._server = self._pipes = None
