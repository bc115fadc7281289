"""Call a tool through the SDK, and turn every failure into a ToolError."""

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
"""Exceptions that an SDK request may raise."""


async def answered(link: Link, tool: McpTool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Call the tool and return the server's answer unchanged. Raises ToolError."""
    try:
        return await link.call(tool.tool, arguments)
    except MCPError as error:
        raise _told(error, tool.name, link.wire.has_ended) from error
    except ValidationError as error:
        # Raised later, outside this block: as its __context__, this error would be printed where the new one is logged.
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
    """Check a result against the declared type: code relies on it, and would fail somewhere later. A result that cannot
    be checked, or not quickly, is accepted: the tool has done its work. Raises ToolError."""
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
