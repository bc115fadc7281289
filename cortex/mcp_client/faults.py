"""A call, with whatever the SDK meets told as an error of the tool."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from pydantic import ValidationError

from sandbox import BadSchema, ToolError, schema_problem

from .errors import McpUnavailable, is_too_large, short, validation_text

if TYPE_CHECKING:
    from .link import Link
    from .tool import McpTool

log = logging.getLogger("motor_cortex.mcp")

Faults = (MCPError, ValidationError, TimeoutError, RuntimeError, OSError)
"""What a request may raise."""


async def answered(link: Link, tool: McpTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The server's answer as it is. Raises ToolError."""
    try:
        return await link.call(tool.tool, arguments)
    except MCPError as error:
        raise _told(error, tool.name, link.wire.has_ended) from error
    except ValidationError as error:
        # In words, and outside of this block: an error that knows this one would print it, where it is logged.
        problem = validation_text(error)
    except Faults as error:
        log.warning('Tool "%s" was not answered as the protocol has it', tool.name, exc_info=error)
        raise ToolError(f'Tool "{tool.name}" was not answered as MCP has it', code="bad_answer") from error
    log.warning('Tool "%s" was not answered as the protocol has it: %s', tool.name, problem)
    raise ToolError(f'Tool "{tool.name}" was not answered as MCP has it', code="bad_answer")


def _told(error: MCPError, name: str, has_ended: bool) -> ToolError:
    said = short(error.message)
    if is_too_large(error.code, error.message):
        return ToolError(f'Tool "{name}": {said}; ask it for less at a time', code="result_too_large")
    if error.code == CONNECTION_CLOSED or has_ended:
        return McpUnavailable(f'Tool "{name}" lost its server ({said}); whether it did anything is not known')
    if error.code == REQUEST_TIMEOUT:
        return ToolError(f'Tool "{name}" gave no answer in time ({said})', code="timeout", retryable=True)
    return ToolError(f'Tool "{name}": {said}', code=f"mcp_{error.code}")


def check_result(tool: McpTool, answer: Mapping[str, Any]) -> None:
    """Code is written against the declared type: a result of another would fail somewhere later. What cannot be
    checked, or not in a moment, is good as it is: the tool has done its work. Raises ToolError."""
    if tool.output_json is None or answer.get("structuredContent") is None:
        return
    try:
        problem = schema_problem(tool.output_json, answer["structuredContent"], "result")
    except BadSchema as error:
        log.debug('The result of tool "%s" is not checked: %s', tool.name, error)
        return
    if problem is not None:
        message = f'Tool "{tool.name}" answered with something else than it declares: {problem}'
        raise ToolError(message, code="bad_answer")
