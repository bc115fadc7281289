"""The tools of one run: each call is counted, checked, timed and answered here.

Grants live in a table of this run. A forged call can name only what the run was lent, so that forging is no more
than calling.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import anyio

from .contracts import ErrorType
from .errors import RunFault, ToolError
from .frames import ToolCall, encode, tool_error_frame, tool_result_frame
from .tool_names import Lent, place

if TYPE_CHECKING:
    import jsonschema_rs

    from .ports import HostTools
    from .settings import SandboxSettings

log = logging.getLogger("motor_cortex.sandbox")

Send = Callable[[Callable[[], bytes]], Awaitable[None]]


class Bridge:
    def __init__(self, tools: HostTools | None, settings: SandboxSettings) -> None:
        self._tools = tools
        self._settings = settings
        self.calls = 0
        lent, unlent = place(tools.declarations()) if tools is not None else ((), ())
        self._lent: dict[str, Lent] = {tool.name: tool for tool in lent}
        for tool in unlent:
            log.warning('Cannot lend tool "%s": %s', tool.name, tool.reason)

    def manifest(self) -> list[dict[str, Any]]:
        """What the guest needs to know: where each tool is, and its name."""
        return [{"path": tool.path, "name": tool.name} for tool in self._lent.values()]

    def places(self) -> list[str]:
        return [tool.expression for tool in self._lent.values()]

    def count(self) -> None:
        """Count one call; raises LimitError when there was one too many."""
        if self.calls >= self._settings.max_tool_calls:
            raise RunFault(ErrorType.LIMIT, f"More than {self._settings.max_tool_calls} tool calls")
        self.calls += 1

    async def answer(self, call: ToolCall, send: Send) -> None:
        """Run one call and send its answer. Whatever the tool does, the host goes on."""
        try:
            value = await self._run(call)
            await send(lambda: self._result(call, value))
        except ToolError as error:
            frame = tool_error_frame(call.call_id, str(error), error.code, retryable=error.retryable)
            await send(lambda: frame)

    async def _run(self, call: ToolCall) -> Any:
        tool = self._lent.get(call.name)
        if tool is None or self._tools is None:
            raise ToolError(f'No tool "{call.name[:100]}" was lent to this run', code="not_lent")
        arguments = _checked(tool, call.params)
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + self._settings.tool_timeout_ms / 1000):
                return await self._tools.call(tool.name, arguments)
        except ToolError:
            raise
        except Exception as error:
            # The text may hold what the code must not see; the person who runs the host finds it in the log.
            log.warning('Tool "%s" failed', tool.name, exc_info=error)
            raise ToolError(f'Tool "{tool.name}" failed with {type(error).__name__}', code="internal") from error
        message = f'Tool "{tool.name}" gave no answer within {self._settings.tool_timeout_ms} ms'
        raise ToolError(message, code="timeout", retryable=True)

    def _result(self, call: ToolCall, value: Any) -> bytes:
        try:
            json = encode(value)
        except ValueError as error:
            log.warning('Tool "%s" returned what is not JSON', call.name, exc_info=error)
            message = f'Tool "{call.name}" returned a value that is not JSON'
            return tool_error_frame(call.call_id, message, "internal", retryable=False)
        if len(json) > self._settings.max_tool_result_bytes:
            message = f'Tool "{call.name}" returned {len(json)} bytes, more than {self._settings.max_tool_result_bytes}'
            return tool_error_frame(call.call_id, message, "result_too_large", retryable=False)
        return tool_result_frame(call.call_id, json)


def _checked(tool: Lent, params: Any) -> dict[str, Any]:
    if not isinstance(params, dict):
        raise ToolError(
            f"{tool.expression} takes one object with its arguments, not {_kind(params)}",
            code="invalid_arguments",
        )
    schema = tool.declaration.input_schema
    if not schema:
        return params
    validator = _validator(encode(dict(schema)))
    if isinstance(validator, str):
        raise ToolError(f'Tool "{tool.name}" has a schema that cannot be used: {validator}', code="bad_schema")
    problem = next(validator.iter_errors(params), None)
    if problem is not None:
        where = "".join(f".{part}" if isinstance(part, str) else f"[{part}]" for part in problem.instance_path)
        raise ToolError(f"{tool.expression}: arguments{where}: {problem.message[:500]}", code="invalid_arguments")
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


@lru_cache(maxsize=512)
def _validator(schema_json: bytes) -> jsonschema_rs.Validator | str:
    """The validator for a schema, or why there is none. Its patterns run in linear time, and it fetches nothing."""
    import jsonschema_rs  # noqa: PLC0415 - 25 ms that a run without tools need not pay

    def refuse(uri: str) -> Any:
        raise ValueError(f'no outside schema is fetched: "{uri}"')

    try:
        return jsonschema_rs.validator_for(
            schema_json.decode(), retriever=refuse, pattern_options=jsonschema_rs.RegexOptions()
        )
    except ValueError as error:
        return str(error)[:300]
