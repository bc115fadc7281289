"""Serves a client through the two pipes that it has started this process with.

Not by the SDK's own transport, which reads lines of any length in a thread that nothing can interrupt: a client that
sends half a line could fill the memory, and Ctrl-C would wait for the other half.
"""

from __future__ import annotations

import logging
import os
import socket
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import anyio.lowlevel

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server import Server
    from mcp.shared.message import SessionMessage

log = logging.getLogger("motor_cortex")

MAX_LINE_BYTES = 8 * 1024 * 1024
WRITING_S = 60.0
"""A client that takes nothing for so long is gone."""
_READ_BYTES = 65_536
# As much as a pipe that is ready takes without blocking, which POSIX promises.
_PIPE_BYTES = 4_096


class Ends(NamedTuple):
    """The descriptors on which the protocol is spoken."""

    reading: int
    writing: int


async def serve_stdio(
    server: Server[Any], ends: Ends | None = None, *, max_line_bytes: int = MAX_LINE_BYTES, writing_s: float = WRITING_S
) -> None:
    """Until the client closes its end or takes no answers, or this is cancelled. Without ends: on stdin and stdout,
    which belong to the protocol alone meanwhile. Raises OSError when there are no such."""
    with _diverted(0, 1, 2) if ends is None else nullcontext(ends) as used:
        async with _streams(used, max_line_bytes, writing_s) as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())


@contextmanager
def _diverted(stdin: int, stdout: int, stderr: int) -> Iterator[Ends]:
    """Copies of both, while whatever else this process or its children read is empty, and what they print goes to
    stderr: one stray line would break the protocol."""
    sys.stdout.flush()
    ends = Ends(_copy(stdin), _copy(stdout))
    try:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, stdin)
        os.close(nothing)
        os.dup2(stderr, stdout)
        try:
            yield ends
        finally:
            with suppress(ValueError, OSError):
                sys.stdout.flush()
            os.dup2(ends.reading, stdin)
            os.dup2(ends.writing, stdout)
    finally:
        for end in ends:
            os.close(end)


def _copy(descriptor: int) -> int:
    """One that no child inherits."""
    copy = os.dup(descriptor)
    os.set_inheritable(copy, False)
    return copy


@asynccontextmanager
async def _streams(
    ends: Ends, max_line_bytes: int, writing_s: float
) -> AsyncIterator[
    tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
]:
    from mcp.shared.message import SessionMessage  # noqa: PLC0415 - it takes a second to load
    from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415

    request_sender, requests = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    answers, answer_receiver = anyio.create_memory_object_stream[SessionMessage](0)

    reading = anyio.CancelScope()

    async def read() -> None:
        is_told = False
        with reading:
            async with request_sender:
                async for line in lines(ends.reading, max_line_bytes):
                    item: SessionMessage | Exception
                    try:
                        item = SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
                    except ValueError as error:
                        item = error  # what is no message costs the client this line and nothing else
                        if not is_told:
                            log.warning("A client sent a line that is no message of MCP, which was passed over")
                        is_told = True
                    with suppress(anyio.BrokenResourceError):
                        await request_sender.send(item)

    async def write() -> None:
        async with answer_receiver:
            async for answer in answer_receiver:
                text = answer.message.model_dump_json(by_alias=True, exclude_unset=True)
                try:
                    await _written(ends.writing, text.encode() + b"\n", writing_s)
                except OSError as error:
                    # Nobody reads any more, or not for so long that it comes to the same.
                    log.warning("The client takes no answers: %s", error or "nothing was taken in time")
                    tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        tasks.start_soon(write)
        yield requests, answers
        # The reader may wait for a client that has no more to say. The writer ends by itself, with the last answer.
        reading.cancel()
        await answers.aclose()


async def lines(descriptor: int, max_line_bytes: int) -> AsyncIterator[bytes]:
    """Those that are not empty. One that is too long is dropped as it comes, and told in the log."""
    kept = bytearray()
    too_long = False
    while chunk := await _read(descriptor):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            line = bytes(kept) + part
            kept.clear()
            if too_long or len(line) > max_line_bytes:
                too_long = False
                log.warning("A client sent a line of more than %d bytes, which was dropped", max_line_bytes)
            elif line.strip():
                yield line
        if too_long or len(kept) + len(rest) > max_line_bytes:
            too_long = True
            kept.clear()
        else:
            kept += rest
    if kept.strip():
        yield bytes(kept)


async def _read(descriptor: int) -> bytes:
    """The next piece; nothing at the end."""
    while True:
        try:
            await anyio.wait_readable(descriptor)
        except PermissionError:
            await anyio.lowlevel.checkpoint()  # a file on disk: no event loop watches those, and they never block
        with suppress(BlockingIOError):
            try:
                return os.read(descriptor, _READ_BYTES)
            except ConnectionError:
                return b""


async def _written(descriptor: int, data: bytes, writing_s: float) -> None:
    """All of it. The descriptor stays as it is, because others may share it: not to block is up to the size of each
    piece, and with a socket, which promises nothing, up to the call."""
    is_socket = stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    channel = socket.socket(fileno=os.dup(descriptor)) if is_socket else None
    try:
        left = memoryview(data)
        while left:
            with anyio.fail_after(writing_s):
                await _wait_writable(descriptor)
            try:
                if channel is None:
                    left = left[os.write(descriptor, left[:_PIPE_BYTES]) :]
                else:
                    left = left[channel.send(left, socket.MSG_DONTWAIT) :]
            except BlockingIOError:
                continue
    finally:
        if channel is not None:
            channel.close()


async def _wait_writable(descriptor: int) -> None:
    try:
        await anyio.wait_writable(descriptor)
    except PermissionError:
        await anyio.lowlevel.checkpoint()
