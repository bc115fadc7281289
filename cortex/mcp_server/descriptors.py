"""Read lines from a file descriptor and write bytes to one, without blocking the event loop."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import AsyncGenerator
from contextlib import suppress

import anyio
import anyio.lowlevel

from cortex.mcp_wire import Line, MessageLines, RefusedMessage

_READ_BYTES = 65_536
# A write of this size to a writable pipe does not block: POSIX promises it.
_PIPE_BYTES = 4_096


async def lines(descriptor: int, max_line_bytes: int) -> AsyncGenerator[Line | RefusedMessage, None]:
    """The lines that are not blank. A line that is too large comes as a RefusedMessage, which has
    enough of it to find its id."""
    found = MessageLines(max_line_bytes)
    while chunk := await _read(descriptor):
        for line in found.feed(chunk):
            if isinstance(line, RefusedMessage) or (line and not line.isspace()):
                yield line
    last = found.end()
    if last is not None and (isinstance(last, RefusedMessage) or not last.isspace()):
        yield last


async def _read(descriptor: int) -> bytes:
    """The next chunk; empty at the end of the input."""
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


async def written(descriptor: int, data: bytes, writing_s: float) -> None:
    """Write all of the data. The descriptor is not set to non-blocking, because other processes may share it: pipes get
    small pieces that do not block, and sockets, which promise nothing, a non-blocking call."""
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
