"""Answers the calls that the code of one run makes to the host: tools, network requests, workspace files, the store.
Each call is counted, checked, timed and answered here.

Grants live in tables of this run. A forged call can name only what the run was lent, so forging gains the code nothing
over calling.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import anyio.lowlevel

from ..contracts import (
    Call,
    ErrorType,
    ExecutionError,
    Fetch,
    FileCall,
    RunFault,
    StoreCall,
    ToolCall,
    ToolError,
    encode,
    tool_error_frame,
    tool_result_frame,
)
from ..ports import Places, ReadyJson
from ..tool_types import Lent, TooMuchToCheck, place, schema_problem
from .calls_made import CallsMade, request_name
from .run_clock import CallUnderWay
from .tool_line import ToolLine

if TYPE_CHECKING:
    from ..ports import HostTools, SandboxSettings, Store
    from .run_clock import RunClock

log = logging.getLogger("motor_cortex.sandbox")

# Limit on tool answers that a run has not read yet (backpressure). Without it, code that calls and does not read would
# make the host keep 250 answers of 8 MB.
MAX_UNSENT_BYTES = 36 * 1024 * 1024
# After an answer larger than this, the event loop gets a turn before the next one is encoded.
LARGE_ANSWER_BYTES = 64 * 1024
# How many calls a run may make to something it was not granted before it is ended.
DEAF_CALLS = 100
# How many calls to the store a run may make before it is ended.
MAX_STORE_CALLS = 1_000
NO_STORE = "store keeps values for a conversation, and this run belongs to none: do without store"

Send = Callable[[Callable[[], bytes]], Awaitable[None]]


class Network(Protocol):
    """The network as one run may use it; counts its requests and bytes."""

    @property
    def requests(self) -> int: ...

    @property
    def received_bytes(self) -> int: ...

    @property
    def hosts(self) -> dict[str, None]:
        """Hosts that the code asked for, allowed or not."""
        ...

    @property
    def max_calls(self) -> int:
        """At most this many calls, allowed or not; one more ends the run."""
        ...

    def renew(self) -> None:
        """Reset the counts of requests and bytes."""
        ...

    async def fetch(self, call: Fetch) -> bytes:
        """Make the request; return the response as JSON. Raises ToolError with a message that the code may see."""
        ...


class Files(Protocol):
    """The files of one run."""

    @property
    def max_calls(self) -> int: ...

    async def answer(self, call: FileCall) -> bytes:
        """Do the file operation; return the answer as JSON. Raises ToolError with a message that the code may see."""
        ...


class Bridge:
    """Counts, checks and answers the calls of one run. Knows the tools, network and files that the run was lent."""

    def __init__(
        self,
        tools: HostTools | None,
        settings: SandboxSettings,
        network: Network | None = None,
        files: Files | None = None,
        refusal: Callable[[], str | None] = lambda: None,
        store: Store | None = None,
    ) -> None:
        """`refusal` returns why the run must stop (such as the kill switch), or None."""
        self._tools = tools
        self._stopped = refusal
        self._settings = settings
        self.network = network
        self.files = files
        """For a resident program, those of the signal that it is answering."""
        # One file call at a time: calls keep the order in which the code made them, and only one answer is in memory.
        self._file_turn = anyio.Lock(fast_acquire=True)
        self._store = store
        self._store_turn = anyio.Lock(fast_acquire=True)  # likewise
        self._tool_line = ToolLine(settings.max_tool_calls_at_once)
        # Encode one answer at a time: 32 of 8 MB at once would block the event loop for a third of a second.
        self._encoding_turn = anyio.Lock(fast_acquire=True)
        self._unsent_bytes = 0
        self.made = CallsMade()
        self.calls = 0
        self.failed_calls = self.failed_fetches = 0
        """Failed calls of tools and of the network. Files and the store do not count: a missing file is no failure."""
        self._fetches = 0
        self._file_calls = 0
        self._store_calls = 0
        lent, unlent = place(tools.declarations()) if tools is not None else ((), ())
        self._lent: dict[str, Lent] = {tool.name: tool for tool in lent}
        for tool in unlent:
            log.warning('Cannot lend tool "%s": %s', tool.name, tool.reason)

    @property
    def has_files(self) -> bool:
        return self.files is not None

    def manifest(self) -> list[dict[str, Any]]:
        """What the process needs to know of each tool: where it is, its name, and which server it belongs to."""
        return [tool.entry() for tool in self._lent.values()]

    def places(self) -> list[str]:
        return [tool.expression for tool in self._lent.values()]

    def renew(self) -> None:
        """Reset all counts: for a resident program, the limits of a run apply to each signal."""
        self.calls = self.failed_calls = self.failed_fetches = self._fetches = self._file_calls = self._store_calls = 0
        self.made = CallsMade()
        self._tool_line.renew()
        if self.network is not None:
            self.network.renew()

    def count(self, call: Call) -> None:
        """Count one call. Raises RunFault when it is one too many, or when the run was stopped.

        The network and the workspace refuse calls earlier, with an error that the code may catch; this limit ends code
        that goes on calling.
        """
        match call:
            case ToolCall():
                self.calls += 1
                made, most, what = self.calls, self._settings.max_tool_calls, "tool calls"
            case Fetch():
                self._fetches += 1
                made, most, what = self._fetches, self.network.max_calls if self.network else DEAF_CALLS, "requests"
            case FileCall():
                self._file_calls += 1
                made, most, what = self._file_calls, self.files.max_calls if self.files else DEAF_CALLS, "file calls"
            case StoreCall():
                self._store_calls += 1
                made, most, what = (
                    self._store_calls,
                    DEAF_CALLS if self._store is None else MAX_STORE_CALLS,
                    "store calls",
                )
        if made > most:
            raise RunFault(ExecutionError(ErrorType.LIMIT, f"More than {most} {what}"))
        # Check even if the process is dead: its call may have lain in the pipe while the host was stopped.
        stopped = None if isinstance(call, FileCall) else self._stopped()
        if stopped is not None:
            raise RunFault(ExecutionError(ErrorType.CRASH, f"The run was stopped: {stopped}", stopped=True))
        if isinstance(call, ToolCall):
            self._tool_line.join(call)

    async def answer(self, call: Call, send: Send, clock: RunClock, given_up: anyio.CancelScope | None = None) -> None:
        """Do what the call asks for and send its answer. Whatever the tool does, the host goes on.

        `given_up` is cancelled when the code no longer waits. That ends the work, never the sending: half a frame on
        the pipe would end the run.
        """
        try:
            match call:
                case ToolCall():
                    try:
                        await self._tool_line.wait(call)
                        # No variable for the value or its text: it would stay in memory until the code reads.
                        await self._send_result(call, *await self._encoded(call, await self._called(call, clock)), send)
                    finally:
                        # Leave only after the answer is sent: otherwise code that does not read could start all calls.
                        self._tool_line.leave(call)
                case Fetch():
                    response = await self._fetch(call, given_up or anyio.CancelScope())
                    await send(lambda: tool_result_frame(call.call_id, response))
                case FileCall():
                    async with self._file_turn:
                        content = await self._file(call)
                        await send(lambda: tool_result_frame(call.call_id, content))
                case StoreCall():
                    async with self._store_turn:
                        kept = await self._stored(call)
                        await send(lambda: tool_result_frame(call.call_id, kept))
            return
        except ToolError as error:
            refusal = self._refusal(call, error)
        # Not inside `except`: until the code reads, the error's traceback would keep megabytes of locals alive.
        await send(lambda: refusal)

    async def _fetch(self, call: Fetch, given_up: anyio.CancelScope) -> bytes:
        if self.network is None:
            raise ToolError("fetch needs the network tier; this run is in the isolated tier", code="denied")
        name = request_name(call.method, call.url)
        begun = None if name is None else self.made.begin(name)
        try:
            with _host_faults("The request", code="network"), given_up:
                response = await self.network.fetch(call)
                if begun is not None:
                    self.made.done(begun)
                return response
        except ToolError:
            if begun is not None:
                self.made.failed(begun)
            raise
        # The code no longer waits, but the process still reads for an answer.
        raise ToolError("The request was aborted", code="aborted")

    async def _file(self, call: FileCall) -> bytes:
        if self.files is None:
            raise ToolError("No workspace was granted to this run", code="PermissionDenied")
        with _host_faults("The operation", code="PermissionDenied"):
            return await self.files.answer(call)

    async def _stored(self, call: StoreCall) -> bytes:
        store = self._store
        if store is None:
            raise ToolError(NO_STORE, code="no_conversation")
        with _host_faults("The store", code="internal"):
            match call.operation:
                case "get":
                    value = await store.get(call.key)
                    return b"[]" if value is None else b"[%b]" % value
                case "set":
                    await store.set(call.key, encode(call.value))
                    return b"null"
                case "delete":
                    return b"true" if await store.delete(call.key) else b"false"
                case "keys":
                    return encode(list(await store.keys()))

    async def _called(self, call: ToolCall, clock: RunClock) -> Any:
        tool = self._lent.get(call.name)
        if tool is None or self._tools is None:
            raise ToolError(f'No tool "{call.name[:100]}" was lent to this run', code="not_lent")
        arguments = _checked(tool, call.params)
        name = self.made.begin(tool.expression)
        try:
            result = await self._call_tool(tool, self._tools, arguments, clock)
        except ToolError:
            self.made.failed(name)
            raise
        self.made.done(name)
        return result

    async def _call_tool(self, tool: Lent, tools: HostTools, arguments: dict[str, Any], clock: RunClock) -> Any:
        try:
            with CallUnderWay(clock, self._settings.tool_timeout_ms / 1000):
                return await tools.call(tool.name, arguments)
        except ToolError:
            raise
        except Exception as error:
            # The error text may contain things that the code must not see; the person who runs the host finds it in
            # the log.
            log.warning('Tool "%s" failed', tool.name, exc_info=error)
            raise ToolError(f'Tool "{tool.name}" failed with {type(error).__name__}', code="internal") from error
        message = f'Tool "{tool.name}" gave no answer within {self._settings.tool_timeout_ms} ms'
        raise ToolError(message, code="timeout", retryable=True)

    async def _send_result(self, call: ToolCall, result: bytes, bytes_at: Places, send: Send) -> None:
        # The next answers may be as large: run fewer calls at once, so that none is refused for lack of room.
        self._tool_line.narrow(MAX_UNSENT_BYTES // max(1, len(result)))
        if self._unsent_bytes + len(result) > MAX_UNSENT_BYTES:
            message = f'The answer of tool "{call.name}" has no room: await other calls before this one'
            raise ToolError(message, code="result_too_large", retryable=True)
        self._unsent_bytes += len(result)
        try:
            await send(lambda: tool_result_frame(call.call_id, result, bytes_at))
        finally:
            self._unsent_bytes -= len(result)

    async def _encoded(self, call: ToolCall, value: Any) -> tuple[bytes, Places]:
        async with self._encoding_turn:
            result = self._result(call, value)
            if len(result) > LARGE_ANSWER_BYTES:
                await anyio.lowlevel.checkpoint()
            return result, value.bytes_at if isinstance(value, ReadyJson) else ()

    def _result(self, call: ToolCall, value: Any) -> bytes:
        """Encode the tool's value as JSON. Raises ToolError when it cannot."""
        try:
            # A frame is one line. In JSON a raw line break stands only between values, because strings escape it.
            json = value.data.replace(b"\n", b" ") if isinstance(value, ReadyJson) else encode(value)
        except ValueError as error:
            log.warning('Tool "%s" returned what is not JSON', call.name, exc_info=error)
            raise ToolError(f'Tool "{call.name}" returned a value that is not JSON', code="internal") from error
        if len(json) > self._settings.max_tool_result_bytes:
            limit = self._settings.max_tool_result_bytes
            message = f'Tool "{call.name}" returned {len(json)} bytes, more than {limit}'
            raise ToolError(message, code="result_too_large")
        return json

    def _refusal(self, call: Call, error: ToolError) -> bytes:
        self.failed_calls += not isinstance(call, FileCall | StoreCall)
        self.failed_fetches += isinstance(call, Fetch)
        # The tool's author may have put anything into the error: send only text to the code.
        text, code = (str(part).encode(errors="replace").decode() for part in (error, error.code))
        return tool_error_frame(call.call_id, text, code, retryable=bool(error.retryable))


@contextmanager
def _host_faults(what: str, *, code: str) -> Iterator[None]:
    """Turn an unexpected exception of the host into an error of the call, without its text; the run goes on."""
    try:
        yield
    except ToolError:
        raise
    except Exception as error:
        log.exception("%s failed in the host", what)
        raise ToolError(f"{what} failed with {type(error).__name__}", code=code) from error


def _checked(tool: Lent, params: Any) -> dict[str, Any]:
    if not isinstance(params, dict):
        raise ToolError(
            f"{tool.expression} takes one object with its arguments, not {_kind(params)}",
            code="invalid_arguments",
        )
    schema = tool.declaration.input_schema
    # A tool of an MCP server is not checked here: the client that lends it accepts more than the schema does, and
    # checks the arguments itself.
    if not isinstance(schema, Mapping) or not schema or tool.declaration.server is not None:
        return params
    try:
        problem = schema_problem(encode(schema), params)
    except TooMuchToCheck as error:
        raise ToolError(f"{tool.expression}: {error}", code="invalid_arguments") from error
    except ValueError as error:
        message = f'Tool "{tool.name}" has a schema that cannot be used: {str(error)[:300]}'
        raise ToolError(message, code="bad_schema") from error
    if problem is not None:
        raise ToolError(f"{tool.expression}: {problem}", code="invalid_arguments")
    return params


def _kind(params: Any) -> str:
    match params:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case _:
            return "an array"
