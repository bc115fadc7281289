"""One tool: a Python function with a name, a schema and a policy, called with JSON and answering with JSON.

Whatever the function does, the caller gets a value or a `ToolError`.
"""

from __future__ import annotations

import inspect
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from sandbox import ReadyJson, ToolDeclaration, ToolError, says_outside_strings

from .arguments import invalid, object_of
from .definitions import ToolDefinition
from .fitting import fitted
from .names import wire_name
from .pictures import without_bytes
from .threads import AllStuck, Escaped, Threads
from .validation_work import MAX_HASHED, MAX_WORK, counted, work

if TYPE_CHECKING:
    from pydantic import BaseModel, TypeAdapter

    from cortex.settings import Policy

    from .signature import Signature

log = logging.getLogger("motor_cortex")


def json_of(value: Any, adapter: TypeAdapter[Any], tool: str) -> ReadyJson:
    """The value as JSON text. NaN, which JSON lacks, becomes null. Raises ToolError for a value that is not JSON."""
    # Serialising would consume an iterator to its end, and it may be endless.
    if not isinstance(value, (Iterator, AsyncIterator)):
        try:
            if found := without_bytes(value, adapter):
                return ReadyJson(to_json(found[0], by_alias=True, inf_nan_mode="null"), found[1])
            return _strict(adapter.dump_json(value, by_alias=True, warnings=False))
        except Exception as error:
            log.warning('Tool "%s" returned what is not JSON', tool, exc_info=error)
            raise _not_json(value, tool) from error
    raise _not_json(value, tool)


def value_of(json: ReadyJson, tool: str) -> Any:
    """A new JSON value: later changes that the tool makes to its own objects do not show here."""
    try:
        return from_json(json.data)
    except ValueError as error:
        raise ToolError(f'Tool "{tool}" returned a value that is nested too deeply', code="internal") from error


def _strict(json: bytes) -> ReadyJson:
    # A type may be configured to write NaN and Infinity, which JSON lacks. The same words inside strings are fine.
    if says_outside_strings(json, b"NaN", b"Infinity"):
        json = to_json(from_json(json), inf_nan_mode="null")
    return ReadyJson(json)


def _not_json(value: Any, tool: str) -> ToolError:
    kind = type(value).__name__[:100]
    return ToolError(f'Tool "{tool}" returned a value that is not JSON, of the type {kind}', code="internal")


def cut(text: str, max_bytes: int, in_all: int | None = None) -> str:
    """The text, or as much of its beginning as fits with a mark that gives the full size. `in_all` is the size of a
    longer text of which this is only the beginning."""
    data = text.encode(errors="replace")
    if len(data) <= max_bytes and in_all is None:
        return data.decode()
    mark = f"… [truncated: {len(data) if in_all is None else in_all} bytes in all]"
    room = max(0, max_bytes - len(mark.encode()))
    return data[:room].decode(errors="ignore") + mark


MAX_LISTED_PROBLEMS = 5_000
MAX_PROBLEMS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Arguments:
    """Arguments, read and checked once, so that what is shown is what the function gets."""

    shown: dict[str, Any]
    """As JSON, defaults included."""
    values: list[Any]
    named: dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A registered function."""

    name: str
    description: str
    policy: Policy
    for_model: bool
    """The model may call it."""
    for_code: bool
    """It may be lent to code in the sandbox."""
    function: Callable[..., Any] = field(repr=False)
    signature: Signature = field(repr=False)
    _threads: Threads = field(default_factory=Threads, repr=False)

    @property
    def wire_name(self) -> str:
        return wire_name(self.name)

    @property
    def input_schema(self) -> dict[str, Any]:
        return self.signature.input_schema

    @property
    def output_schema(self) -> dict[str, Any] | None:
        return self.signature.output_schema

    @property
    def definition(self) -> ToolDefinition:
        return ToolDefinition(self.name, self.description, self.input_schema)

    @property
    def declaration(self) -> ToolDeclaration:
        return ToolDeclaration(self.name, self.description, self.input_schema, self.output_schema)

    def read(self, arguments: Mapping[str, Any] | str | None) -> Arguments:
        """Read and check the arguments, with a model's common mistakes fixed. Raises ToolError
        (`invalid_arguments`)."""
        given = self._given(arguments)
        checked = self._checked(given)
        try:
            shown = self.signature.shown(checked, given)
        except Exception:  # noqa: BLE001 - a serialiser of the tool's author, or a value that JSON cannot express
            shown = given
        return Arguments(shown, *self.signature.bind(checked))

    async def call(
        self, arguments: Arguments | Mapping[str, Any] | str | None = None, *, timeout_ms: int | None = None
    ) -> Any:
        """Call the function; its result is a JSON value. Raises ToolError, and nothing else but a cancellation.

        At the timeout a coroutine is cancelled and a thread is abandoned: it cannot be stopped.
        """
        return value_of(await self.call_json(arguments, timeout_ms=timeout_ms), self.name)

    async def call_json(
        self, arguments: Arguments | Mapping[str, Any] | str | None = None, *, timeout_ms: int | None = None
    ) -> ReadyJson:
        """Like `call`, with the result as JSON text, for callers that only send it on."""
        read = arguments if isinstance(arguments, Arguments) else self.read(arguments)
        deadline = math.inf if timeout_ms is None else anyio.current_time() + timeout_ms / 1000
        with anyio.CancelScope(deadline=deadline):
            result = await self._outcome(lambda: self.function(*read.values, **read.named))
            return json_of(result, self.signature.result, self.name)
        message = f'Tool "{self.name}" gave no answer within {timeout_ms} ms'
        raise ToolError(message, code="timeout", retryable=True)

    def _given(self, arguments: Any) -> dict[str, Any]:
        given: dict[str, Any] = fitted(object_of(arguments, self.name, self._bare()), self.input_schema)
        self._refuse_too_much(given)
        return given

    def _refuse_too_much(self, given: dict[str, Any]) -> None:
        """Refuse arguments that would take pydantic too long: once started, it cannot be stopped."""
        left = MAX_HASHED
        for name in sorted(self.signature.hashed.keys() & given.keys()):
            left -= self.signature.hashed[name] * counted(given[name], left + 1)
            if left < 0:
                raise invalid(f'{self.name}: "{name}" holds more than {MAX_HASHED} values; send it in parts')
        left = MAX_WORK
        for name in sorted(self.signature.breadths.keys() & given.keys()):
            left -= work(given[name], self.signature.breadths[name])
            if left < 0:
                raise invalid(f'{self.name}: "{name}" is nested too deep for its type, or too large; send it in parts')

    def _bare(self) -> str | None:
        """The parameter that a bare text is meant for: the only one, if it takes texts."""
        match list(self.input_schema["properties"].items()):
            case [(name, {"type": "string"})]:
                return str(name)
        return None

    def _checked(self, arguments: dict[str, Any]) -> BaseModel:
        try:
            return self.signature.arguments.model_validate(arguments)
        except ValidationError as error:
            raise invalid(f"{self.name}: {_problems(error)}. It takes {self._takes()}") from error
        except Exception as error:
            # A validator of the tool's author failed; its message is for the author.
            raise self._internal(error) from error

    def _takes(self) -> str:
        required = self.input_schema.get("required", ())
        names = [name if name in required else f"{name} (optional)" for name in self.input_schema["properties"]]
        return ", ".join(names)[:300] or "no arguments"

    async def _outcome(self, call: Callable[[], Any]) -> Any:
        """Run the function in a task of its own, and return its result. If the function cancels itself or breaks a
        cancel scope, the caller is not cancelled: it gets a ToolError."""
        results: list[Any] = []
        faults: list[ToolError] = []

        async def run() -> None:
            try:
                results.append(await self._result(call))
            except (KeyboardInterrupt, GeneratorExit):
                raise
            except anyio.get_cancelled_exc_class():
                raise
            except BaseException as error:  # noqa: BLE001 - SystemExit ends the call and not the host
                faults.append(self._fault(error))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
        if faults:
            raise faults[0]
        if not results:
            raise ToolError(f'Tool "{self.name}" cancelled itself', code="internal")
        return results[0]

    async def _result(self, call: Callable[[], Any]) -> Any:
        if self.signature.is_async:
            return await call()
        result = await self._threads.run(call)
        return await _awaited(result) if inspect.isawaitable(result) else result

    def _fault(self, error: BaseException) -> ToolError:
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        if isinstance(error, ToolError):
            return error
        if isinstance(error, AllStuck):
            message = f'Tool "{self.name}" has earlier calls that do not end; try again later, or do without it'
            return ToolError(message, code="busy", retryable=True)
        return self._internal(error.__cause__ if isinstance(error, Escaped) and error.__cause__ else error)

    def _internal(self, error: BaseException) -> ToolError:
        # The message may contain secrets that neither the model nor its code must see; the log is for the owner of the
        # host.
        log.warning('Tool "%s" failed', self.name, exc_info=error)
        fault = ToolError(f'Tool "{self.name}" failed with {type(error).__name__}', code="internal")
        fault.__cause__ = error  # for `Calls`: the owner may let its message be shown
        return fault


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _problems(error: ValidationError) -> str:
    # Each problem takes 5 µs and 100 bytes to list, and a long list may have thousands of problems.
    if error.error_count() > MAX_LISTED_PROBLEMS:
        return f"it does not fit in {error.error_count()} places"
    found = error.errors(include_url=False, include_context=False, include_input=False)
    texts = [
        f"{'.'.join(str(part)[:60] for part in problem['loc'][:6])}: {problem['msg'][:200]}".removeprefix(": ")
        for problem in found[:MAX_PROBLEMS]
    ]
    more = len(found) - len(texts)
    return "; ".join(texts) + (f"; and {more} more" if more else "")
