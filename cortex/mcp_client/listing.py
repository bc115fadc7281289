"""Turn the tool list of an MCP server into our tools, within limits of size and number. Pure."""

from __future__ import annotations

import hashlib
import logging
import re
import sys
from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydantic_core import to_json

from cortex.tools import MAX_NAME_LENGTH
from sandbox import JsonLimits, JsonMeter, place_of_tools

from .tool import McpTool, ToolServer

if TYPE_CHECKING:
    from cortex.settings import Policy

log = logging.getLogger("motor_cortex.mcp")

MAX_ORIGINAL_NAME = 256
MAX_DESCRIPTION = 4_096
MAX_SCHEMA_BYTES = 262_144
MAX_ALL_BYTES = 33_554_432
# Limit of objects and arrays in the schemas of all tools. An empty one has two bytes of JSON and takes up to a hundred
# in memory.
MAX_ALL_CONTAINERS = 200_000
_ODD = re.compile(r"[^A-Za-z0-9_-]", re.ASCII)


class Listed(Protocol):
    """A tool as the SDK gives it."""

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


class _Taken(NamedTuple):
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    schema_json: bytes
    output_json: bytes | None


class Listing:
    """Collects the tools of a server's list, page by page. Only the needed parts of a page are kept: all pages together
    may have hundreds of megabytes. The log says what is left out."""

    def __init__(self, server: str, most: int) -> None:
        self._server = server
        self._most = most
        self._room = MAX_ALL_BYTES
        self._containers = MAX_ALL_CONTAINERS
        self._taken: dict[str, _Taken] = {}

    @property
    def is_full(self) -> bool:
        return self._most <= 0 or self._room < 0 or self._containers < 0

    @property
    def names(self) -> Set[str]:
        """The server's own names of the tools that were taken."""
        return self._taken.keys()

    def add(self, listed: Iterable[Listed]) -> None:
        """Add tools. Of two with the same name the first is taken."""
        for tool in listed:
            if self._most <= 0:
                return
            self._most -= 1
            self._add(tool)

    def _add(self, tool: Listed) -> None:
        if tool.name in self._taken or len(tool.name) > MAX_ORIGINAL_NAME:
            log.warning('MCP server "%s": a tool is left out for its name, "%s"', self._server, tool.name[:100])
            return
        schema, output = to_json(tool.input_schema), _output(tool.output_schema)
        self._room -= len(schema) + len(output or b"")
        self._containers -= _containers(schema) + _containers(output or b"")
        if len(schema) > MAX_SCHEMA_BYTES or self._room < 0:
            log.warning('MCP server "%s": tool "%s" is left out, its schema is too large', self._server, tool.name)
        elif self._containers < 0:
            reason = f"the schemas of all tools hold more than {MAX_ALL_CONTAINERS} objects and arrays"
            log.warning('MCP server "%s": tool "%s" is left out, %s', self._server, tool.name, reason)
        else:
            results = None if output is None else tool.output_schema
            self._taken[tool.name] = _Taken(_description(tool), tool.input_schema, results, schema, output)

    def leave_out_the_rest(self, reason: str) -> None:
        log.warning('MCP server "%s": the rest of its tools is left out, %s', self._server, reason)

    def tools(self, policy: Policy, caller: ToolServer) -> tuple[McpTool, ...]:
        names = tool_names(self._server, self._taken)
        tools = [
            McpTool(server=self._server, tool=tool, name=names[tool], policy=policy, caller=caller, **taken._asdict())
            for tool, taken in self._taken.items()
        ]
        places = place_of_tools([tool.declaration for tool in tools])
        return tuple(replace(tool, places=places.get(tool.name, ())) for tool in tools)


def tools_of(server: str, listed: Iterable[Listed], policy: Policy, caller: ToolServer) -> tuple[McpTool, ...]:
    """The usable tools of one list, without a limit of their number."""
    listing = Listing(server, sys.maxsize)
    listing.add(listed)
    return listing.tools(policy, caller)


def _containers(schema: bytes) -> int:
    outside = JsonMeter(JsonLimits(0, 0)).outside(schema)
    return outside.count(b"{") + outside.count(b"[")


def _description(tool: Listed) -> str:
    text = (tool.description or tool.title or "").strip()
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 1] + "…"


def _output(schema: dict[str, Any] | None) -> bytes | None:
    """The output schema as JSON; None if there is none or it is too large: the results are still good. It is compiled
    only when a result comes: to compile the schemas of thousands of tools takes seconds."""
    json = to_json(schema) if schema else b""
    return json if 0 < len(json) <= MAX_SCHEMA_BYTES else None


def tool_names(server: str, originals: Iterable[str]) -> dict[str, str]:
    """A unique name for each original name: `server.tool`, in characters that every API accepts. The order does not
    matter: a tool keeps its name when others come and go, unless a tool comes whose name would be the same."""
    wanted = {original: f"{server}.{_ODD.sub('_', original)}" for original in originals}
    claims = Counter(wanted.values())
    names: dict[str, str] = {}
    for original, name in wanted.items():
        is_own = name == f"{server}.{original}"
        fits = bool(original) and len(name) <= MAX_NAME_LENGTH
        names[original] = name if fits and (is_own or claims[name] == 1) else _marked(name, original)
    return names


def _marked(name: str, original: str) -> str:
    mark = "_" + hashlib.sha256(original.encode(errors="replace")).hexdigest()[:8]
    return name[: MAX_NAME_LENGTH - len(mark)] + mark
