"""Start an MCP server program on this machine, talk to it through its pipes, and kill it with all that it started.

The SDK's own transport is not used: it would keep a line of any length, and lets the program write to our terminal.
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
import anyio.abc
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import DEFAULT_INHERITED_ENV_VARS
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCMessage

from cortex.mcp_wire import HEAD_BYTES, Line, MessageLines, RefusedMessage
from cortex.text import Turns
from sandbox import Running, SandboxUnavailable, TooComplex

from .errors import TOO_LARGE, LinkFault, NoProgram, too_large
from .messages import NO_MESSAGE, parsed

log = logging.getLogger("motor_cortex.mcp")

# A program has GRACE_S to exit after its standard input was closed, and then TERM_S after SIGTERM.
GRACE_S = 1.5
TERM_S = 1.0
KILLED_S = 2.0
LOOK_S = 0.25
# A line that exceeds the message limit this many times counts as endless.
ENDLESS_TIMES = 4
CHUNK_BYTES = 65_536
TAIL_BYTES = 4_096
PRINTED_BYTES = 100

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@dataclass(frozen=True, slots=True)
class Program:
    command: str
    arguments: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str | None = None


@dataclass(slots=True)
class Witness:
    """What was last seen of a server, to explain why it failed."""

    said: bytes = b""
    """The end of its standard error."""
    exit: int | None = None
    status: int | None = None
    """The last HTTP status."""
    printed: bytes = b""
    """The first line on its standard output that was not a message."""

    def hear(self, chunk: bytes) -> None:
        self.said = (self.said + chunk)[-TAIL_BYTES:]


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """The part of our environment that a server program inherits: paths, user and terminal, no secrets."""
    return {name: environment[name] for name in DEFAULT_INHERITED_ENV_VARS if name in environment}


@asynccontextmanager
async def started(
    program: Program, witness: Witness, max_message_bytes: int, running: Running
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Start the program and yield its streams; kill it after the block. Raises LinkFault when it cannot be started."""
    try:
        running.check()  # a program acts from its first moment, with the rights of the user
        process = await _spawn(program)
        try:
            # Noted before it gets any input: the kill switch of another process can then kill it at any moment.
            running.note(process.pid)
        except SandboxUnavailable:
            with anyio.CancelScope(shield=True):
                await _end(process, 0.0)
            running.forget(process.pid)
            raise
    except SandboxUnavailable as error:
        raise LinkFault(str(error)) from error
    to_us, incoming = anyio.create_memory_object_stream[SessionMessage | Exception]()
    outgoing, from_us = anyio.create_memory_object_stream[SessionMessage]()
    grace_s = 0.0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, process, to_us, max_message_bytes, witness)
        tasks.start_soon(_write, process, from_us, to_us)
        tasks.start_soon(_hear, process, witness)
        tasks.start_soon(_watch, process, to_us)
        try:
            yield incoming, outgoing
            grace_s = GRACE_S
        finally:
            with anyio.CancelScope(shield=True):
                await _end(process, grace_s)
            running.forget(process.pid)
            witness.exit = process.returncode
            for stream in (to_us, incoming, outgoing, from_us):
                stream.close()
            tasks.cancel_scope.cancel()


async def _spawn(program: Program) -> anyio.abc.Process:
    try:
        # Shielded: a start that is cancelled half way would leave a process that nothing kills.
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                [program.command, *program.arguments],
                env=dict(program.environment),
                cwd=program.folder,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        reason = _why_not(program) or getattr(error, "strerror", None) or str(error)
        raise NoProgram(f'"{program.command}" cannot be started: {reason}') from error
    return process


def _why_not(program: Program) -> str | None:
    """Why the program cannot be started, more exactly than the system's error says; None if no reason is found."""
    folder, path = program.folder or ".", program.environment.get("PATH", os.defpath)
    if not os.path.isdir(folder):
        return f'there is no folder "{folder}" to start it in'
    command = os.path.join(folder, program.command)
    if "/" not in program.command:
        return None if shutil.which(program.command, path=path) else "there is no such program where PATH looks"
    if not os.path.exists(command):
        return "there is no such program"
    if os.path.isdir(command):
        return "it is a folder"
    return None if os.access(command, os.X_OK) else "it may not be executed"


async def _read(
    process: anyio.abc.Process,
    to_us: MemoryObjectSendStream[SessionMessage | Exception],
    max_bytes: int,
    witness: Witness,
) -> None:
    lines = MessageLines(max_bytes)
    stdout = process.stdout
    assert stdout is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError):
        async with to_us:
            while True:
                await _pass_on(lines.feed(await stdout.receive(CHUNK_BYTES)), to_us, witness)
                if lines.size > ENDLESS_TIMES * max_bytes:
                    return


async def _pass_on(
    lines: Iterator[Line | RefusedMessage], to_us: MemoryObjectSendStream[SessionMessage | Exception], witness: Witness
) -> None:
    """Send the messages in these lines. A function of its own, so that the last line read, which may have megabytes, is
    freed before more comes."""
    turns = Turns()
    for line in lines:
        message = message_of(line)
        if message is None and not isinstance(line, RefusedMessage) and not witness.printed:
            witness.printed = bytes(line[:HEAD_BYTES].strip()[:PRINTED_BYTES])
        del line  # freed while the message is being sent, too
        if message is not None:
            await to_us.send(SessionMessage(message))
        await turns.take()


def message_of(line: Line | RefusedMessage) -> JSONRPCMessage | None:
    """The message in a line. An answer that cannot be read becomes an error for the caller that waits for it. Other
    lines, as of a program that prints to stdout, give None."""
    if isinstance(line, RefusedMessage):
        return _error(line, TOO_LARGE, too_large(line.reason))
    if not line or line.isspace():
        return None
    code, reason = PARSE_ERROR, NO_MESSAGE
    try:
        message = parsed(line)
        if message is not None:
            return message
    except TooComplex as error:
        code, reason = TOO_LARGE, too_large(str(error))
    log.debug("An MCP server wrote a line that is no message: %r", bytes(line[:200]))
    return _error(RefusedMessage(bytes(line[:HEAD_BYTES]), bytes(line[-HEAD_BYTES:]), reason), code, reason)


def _error(line: RefusedMessage, code: int, reason: str) -> JSONRPCError | None:
    asked = line.id
    # Our own requests have integer ids.
    if not isinstance(asked, int):
        return None
    return JSONRPCError(jsonrpc="2.0", id=asked, error=ErrorData(code=code, message=reason))


async def _write(
    process: anyio.abc.Process,
    from_us: MemoryObjectReceiveStream[SessionMessage],
    to_us: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    stdin = process.stdin
    assert stdin is not None
    try:
        async with from_us:
            async for item in from_us:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                await stdin.send(text.encode(errors="replace") + b"\n")
    except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        # The server has closed its stdin: end the stream, so that callers do not wait for an answer.
        to_us.close()


async def _hear(process: anyio.abc.Process, witness: Witness) -> None:
    stderr = process.stderr
    assert stderr is not None
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError):
        while True:
            chunk = await stderr.receive(CHUNK_BYTES)
            witness.hear(chunk)
            log.debug("An MCP server says: %s", chunk[:500].decode(errors="replace"))


async def _watch(process: anyio.abc.Process, to_us: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
    """Close the stream when the program exits, also when a process that it started still holds its pipes."""
    while process.returncode is None:  # noqa: ASYNC110 - no event tells the exit, and `wait()` waits for the pipes too
        await anyio.sleep(LOOK_S)
    await anyio.sleep(LOOK_S)  # time to read its last output
    to_us.close()


async def _end(process: anyio.abc.Process, grace_s: float) -> None:
    """Kill the program and its process group, after a grace period. Every wait has a timeout; never raises."""
    if process.stdin is not None:
        with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError), anyio.move_on_after(1):
            await process.stdin.aclose()
    if grace_s and not await _is_gone(process, grace_s):
        _signal_group(process, signal.SIGTERM)
        await _is_gone(process, TERM_S)
    # Also when the program itself has exited: processes that it started may still run.
    _signal_group(process, signal.SIGKILL)
    if not await _is_gone(process, KILLED_S):
        log.warning("The process %d of an MCP server does not end", process.pid)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            with suppress(OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
                await pipe.aclose()
    # On asyncio the pipes stay open while a process that has left the group holds their other end.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        transport.close()


async def _is_gone(process: anyio.abc.Process, within_s: float) -> bool:
    """Whether the process exits within the time. Polls, because `wait()` also waits for pipes that other processes may
    hold."""
    pause_s = 0.001
    with anyio.move_on_after(within_s):
        while process.returncode is None:
            await anyio.sleep(pause_s)
            pause_s = min(0.02, pause_s * 2)
    return process.returncode is not None


def _signal_group(process: anyio.abc.Process, number: signal.Signals) -> None:
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


def exit_text(status: int | None) -> str:
    match status:
        case None:
            return "its pipes were closed"
        case int() if status < 0:
            return f"it was killed by signal {-status}"
        case _:
            return f"it ended with status {status}"


__all__ = ["Program", "Witness", "exit_text", "inherited", "message_of", "started"]
