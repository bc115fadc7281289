"""The list of tools that a server gave, as the tools that are taken from it. Pure."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from pydantic_core import to_json

from sandbox import place_of_tools

from .names import tool_names
from .tool import Caller, McpTool

if TYPE_CHECKING:
    from ..sections import Policy

log = logging.getLogger("motor_cortex.mcp")

MAX_ORIGINAL_NAME = 256
MAX_DESCRIPTION = 4_096
MAX_SCHEMA_BYTES = 262_144
MAX_ALL_BYTES = 33_554_432


class Listed(Protocol):
    """A tool as the SDK has it."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str | None: ...
    @property
    def description(self) -> str | None: ...
    @property
    def input_schema(self) -> dict[str, Any]: ...
    @property
    def output_schema(self) -> dict[str, Any] | None: ...


def tools_of(server: str, listed: Iterable[Listed], policy: Policy, caller: Caller) -> tuple[McpTool, ...]:
    """Those that can be taken; the log says which cannot. Of two with one name the first is."""
    room = MAX_ALL_BYTES
    taken: dict[str, tuple[Listed, bytes, bytes | None]] = {}
    for tool in listed:
        if tool.name in taken or len(tool.name) > MAX_ORIGINAL_NAME:
            log.warning('MCP server "%s": a tool is left out for its name, "%s"', server, tool.name[:100])
            continue
        schema, output = to_json(tool.input_schema), _output(tool.output_schema)
        room -= len(schema) + len(output or b"")
        if len(schema) > MAX_SCHEMA_BYTES or room < 0:
            log.warning('MCP server "%s": tool "%s" is left out, its schema is too large', server, tool.name)
            continue
        taken[tool.name] = (tool, schema, output)
    names = tool_names(server, taken)
    tools = [
        McpTool(
            server=server,
            tool=original,
            name=names[original],
            description=_description(tool),
            policy=policy,
            input_schema=tool.input_schema,
            output_schema=None if output is None else tool.output_schema,
            schema_json=schema,
            output_json=output,
            caller=caller,
        )
        for original, (tool, schema, output) in taken.items()
    ]
    places = place_of_tools([tool.declaration for tool in tools])
    return tuple(replace(tool, places=places.get(tool.name, ())) for tool in tools)


def _description(tool: Listed) -> str:
    text = (tool.description or tool.title or "").strip()
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1] + "…"


def _output(schema: dict[str, Any] | None) -> bytes | None:
    """A schema of results that is too large is as none: the results are still good. Whether it can be used is found out
    when there is one: to compile the schemas of thousands of tools takes seconds."""
    json = to_json(schema) if schema else b""
    return json if 0 < len(json) <= MAX_SCHEMA_BYTES else None
