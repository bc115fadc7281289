"""Lines read from a descriptor and bytes written to one, while the event loop goes on."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import AsyncGenerator
from contextlib import suppress

import anyio
import anyio.lowlevel

from cortex.mcp_wire import Line, MessageLines, Refused

_READ_BYTES = 65_536
# As much as a pipe that is ready takes without blocking, which POSIX promises.
_PIPE_BYTES = 4_096


async def lines(descriptor: int, max_line_bytes: int) -> AsyncGenerator[Line | Refused, None]:
    """Those that are not empty. Of one that is too large, only what tells whose it is."""
    found = MessageLines(max_line_bytes)
    while chunk := await _read(descriptor):
        for line in found.feed(chunk):
            if isinstance(line, Refused) or (line and not line.isspace()):
                yield line
    last = found.end()
    if last is not None and (isinstance(last, Refused) or not last.isspace()):
        yield last


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


async def written(descriptor: int, data: bytes, writing_s: float) -> None:
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
