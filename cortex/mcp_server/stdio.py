"""Serve the MCP client that started this process, over stdin and stdout.

The SDK's own transport is not used: it reads lines of any length in a thread that nothing can interrupt. A client that
sends half a line could fill the memory, and Ctrl-C would wait for the other half.
"""

from __future__ import annotations

import logging
import os
import socket
import stat
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import anyio
import anyio.lowlevel

from cortex.mcp_wire import Line, MessageLines, RefusedMessage

from .calls import OpenRequests
from .messages import NoMessage, message_of

if TYPE_CHECKING:
    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server import Server
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCRequest

    Requests: TypeAlias = MemoryObjectSendStream[SessionMessage | Exception]

log = logging.getLogger("motor_cortex")


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


MAX_LINE_BYTES = 4_718_592
"""The same limit as over HTTP."""
WRITING_S = 60.0
"""Timeout of a write: a client that reads nothing for this long counts as gone."""


class Ends(NamedTuple):
    """The descriptors on which the protocol is spoken."""

    reading: int
    writing: int


async def serve_stdio(
    server: Server[Any], ends: Ends | None = None, *, max_line_bytes: int = MAX_LINE_BYTES, writing_s: float = WRITING_S
) -> None:
    """Serve until the client closes its end or reads no answers, or this is cancelled. Without `ends` it uses stdin and
    stdout, which nothing else can use meanwhile. Raises OSError when they are closed."""
    with _diverted(0, 1, 2) if ends is None else nullcontext(ends) as used:
        async with _Client(used, writing_s).streams(max_line_bytes) as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())


@contextmanager
def _diverted(stdin: int, stdout: int, stderr: int) -> Iterator[Ends]:
    """Copies of stdin and stdout for the protocol. Meanwhile other code of this process, and its children, read an
    empty stdin, and their prints go to stderr: one stray line would break the protocol."""
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
    """A copy of the descriptor that no child process inherits."""
    copy = os.dup(descriptor)
    os.set_inheritable(copy, False)
    return copy


class _Client:
    """One client: checks its lines, passes messages to the SDK and writes the answers."""

    def __init__(self, ends: Ends, writing_s: float) -> None:
        self._ends = ends
        self._writing_s = writing_s
        self._writing = anyio.Lock()
        self._open = OpenRequests()
        self._tasks = anyio.create_task_group()
        self._is_told = False

    @asynccontextmanager
    async def streams(
        self, max_line_bytes: int
    ) -> AsyncIterator[
        tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
    ]:
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - it takes a second to load

        request_sender, requests = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        answers, answer_receiver = anyio.create_memory_object_stream[SessionMessage](0)
        reading = anyio.CancelScope()

        async def read() -> None:
            with reading:
                async with request_sender, aclosing(lines(self._ends.reading, max_line_bytes)) as found:
                    async for line in found:
                        await self._take(line, request_sender)

        async with self._tasks:
            self._tasks.start_soon(read)
            self._tasks.start_soon(self._write, answer_receiver)
            yield requests, answers
            # Cancel the reader, which may wait for a silent client. The writer ends by itself after the last answer.
            reading.cancel()
            await answers.aclose()

    def _tell(self, what: str) -> None:
        """Log a warning once, then only at debug level: a client that sends one such line may send a million."""
        log.log(logging.DEBUG if self._is_told else logging.WARNING, "A client sent %s", what)
        self._is_told = True

    async def _take(self, line: Line | RefusedMessage, requests: Requests) -> None:
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - as above
        from mcp_types import JSONRPCRequest  # noqa: PLC0415

        try:
            found = line if isinstance(line, RefusedMessage) else message_of(line)
        except ValueError:
            found = None
        if found is None or isinstance(found, NoMessage):
            # Skip this line and go on: the connection stays open.
            self._tell("a line that is no message of MCP, which was passed over")
        elif isinstance(found, RefusedMessage):
            self._tell(f"a message of {found.reason}, which was refused")
            if found.id is not None:
                await self._say(_refusal(found.id, f"The message is too large: {found.reason}"))
        elif isinstance(found, JSONRPCRequest):
            await self._ask(found, len(line), requests)
        else:
            await _give(SessionMessage(found), requests)

    async def _ask(self, request: JSONRPCRequest, size: int, requests: Requests) -> None:
        """Pass a request on when there is a place. Only requests wait: a cancellation still gets through."""
        from mcp.shared.message import ServerMessageMetadata, SessionMessage  # noqa: PLC0415 - as above

        async def unanswered() -> None:
            self._open.end(request.id)

        await self._open.place()
        if self._open.begin(request.id, size):
            await _give(SessionMessage(request, ServerMessageMetadata(on_request_unanswered=unanswered)), requests)
        else:
            await self._say(_refusal(request.id, "The requests that are being answered hold too much; try again"))

    async def _write(self, answers: MemoryObjectReceiveStream[SessionMessage]) -> None:
        from mcp_types import JSONRPCError, JSONRPCResponse  # noqa: PLC0415 - as above

        async with answers:
            async for answer in answers:
                await self._say(answer.message)
                if isinstance(answer.message, JSONRPCResponse | JSONRPCError):
                    self._open.end(answer.message.id)

    async def _say(self, message: JSONRPCMessage) -> None:
        """Write one message. The reader's refusals come here too, and not through the stream of answers: there each
        would count as the answer to an open request of the same id."""
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        async with self._writing:
            try:
                await written(self._ends.writing, text.encode() + b"\n", self._writing_s)
            except OSError as error:
                # The client has closed its end, or has read nothing until the timeout.
                log.warning("The client reads no answers: %s", error or "it read nothing in time")
                self._tasks.cancel_scope.cancel()


async def _give(message: SessionMessage, requests: Requests) -> None:
    with suppress(anyio.BrokenResourceError):
        await requests.send(message)


def _refusal(request_id: int | str, reason: str) -> JSONRPCError:
    from mcp_types import INVALID_REQUEST, ErrorData, JSONRPCError  # noqa: PLC0415 - as above

    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=INVALID_REQUEST, message=reason))
