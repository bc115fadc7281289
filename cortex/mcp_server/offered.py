"""The list of tools that MCP clients get, as MCP defines it. Plain data, the same bytes for the same settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from cortex.tools import EXECUTE_CODE, CoreTool, core_definitions, openai_tools, policy_of

if TYPE_CHECKING:
    from cortex.settings import ExecuteSettings, Settings

CORE = ("core_execute", "core_search", "core_describe", "core_energy", "core_consolidate")
"""The cortex's own tools that are useful to a client that is not its agent."""

INSTRUCTIONS = (
    "Runs short TypeScript programs in a single-use sandbox. Prefer one program that calls several tools and returns a "
    "summary to many calls that return raw data: find functions with core_search, read their declarations with "
    "core_describe, then run core_execute or execute_code. Each run costs energy, which comes back with time. Nothing "
    "here can approve anything: what needs the owner is decided by the owner, elsewhere."
)

_READS = {"readOnlyHint": True, "openWorldHint": False}
_ADDS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
# Tools that run code have no annotations: code may call any tool of the host, so the protocol's worst defaults fit.
_ANNOTATIONS: dict[str, dict[str, Any]] = {
    "core_search": _READS,
    "core_describe": _READS,
    "core_energy": _READS,
    "core_consolidate": _ADDS,
}

ANSWER_SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "The answer"},
        "note": {"type": "string", "description": "A note beside the answer"},
    },
    "required": ["text"],
}

_MEASURED = ("executionTimeMs", "startupTimeMs", "totalTimeMs", "memoryUsedMB", "toolCalls", "fetches")
_COUNTED = ("done", "failed", "underWay")
RUN_SCHEMA = {
    "type": "object",
    "properties": {
        "result": {"description": "What the code returned"},
        "logs": {"type": "array", "items": {"type": "string"}},
        "metrics": {
            "type": "object",
            "properties": {**{name: {"type": "number"} for name in _MEASURED}, "cached": {"type": "boolean"}},
        },
        "calls": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, **{count: {"type": "integer"} for count in _COUNTED}},
            },
            "description": "What the run called, and requests that were not plain reads; also where it failed",
        },
        "state": {"type": "object", "description": "State that the code asks its caller to keep, if any"},
        "files": {
            "type": "object",
            "properties": {
                "committed": {"type": "boolean"},
                "changes": {"type": "array", "items": {"type": "object"}},
                "count": {"type": "integer"},
                "reason": {"type": "string"},
            },
            "description": "What the code changed in /workspace, if it has one",
        },
        "displayed": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    **{name: {"type": "string"} for name in ("type", "mimeType", "title")},
                    "bytes": {"type": "integer"},
                },
            },
            "description": "What the code displayed, if anything; the content blocks hold it",
        },
        "truncatedFromBytes": {
            "type": "integer",
            "description": "The full size of a result that was cut because it is too large",
        },
        "error": {
            "type": "object",
            "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
            "description": "Why there is no result",
        },
        "note": {"type": "string", "description": "A note beside the answer"},
    },
    "required": ["result", "logs", "metrics"],
}

_RUN = "core_execute for programs: takes `context` and limits, answers with result, logs, metrics and the code's state."


def offered(told: Iterable[Mapping[str, Any]], settings: Settings, *, files: bool = False) -> list[dict[str, Any]]:
    """The list, made from the tools as a model is told of them. `execute_code` is offered only where code may run. The
    search tools are always offered, even where an agent does not need them, so that clients see a stable list."""
    ours = core_definitions(_limits(settings), searches=True, has_turns=False, files=files)
    searching = [
        tool
        for tool in ours
        if tool.name in {"core.search", "core.describe"} and policy_of(CoreTool(tool.name), settings.tools) != "deny"
    ]
    given = {tool["function"]["name"]: tool["function"] for tool in (*openai_tools(searching), *told)}
    tools = [
        _tool(name, given[name]["description"], given[name]["parameters"], ANSWER_SCHEMA)
        for name in CORE
        if name in given
    ]
    if CORE[0] not in given:
        return tools
    # The description for clients, to whom each call is a turn.
    tools[0]["description"] = ours[0].description
    return [*tools, _tool(EXECUTE_CODE, _RUN, _code_parameters(settings, files), RUN_SCHEMA)]


def _limits(settings: Settings) -> ExecuteSettings:
    return settings.execute.within(settings.sandbox.max_timeout_ms)


def _code_parameters(settings: Settings, files: bool) -> dict[str, Any]:
    text, flag = {"type": "string"}, {"type": "boolean"}
    sandbox = settings.sandbox
    hosts = "allowed hosts alone" if sandbox.network.allow else "none"
    config = {
        "timeoutMs": {"type": "integer", "description": f"≤ {_limits(settings).max_timeout_network_ms}"},
        "heapLimitMB": {"type": "integer", "description": f"≤ {min(sandbox.max_heap_mb, sandbox.max_memory_mb)}"},
        "allowedReadPaths": {"type": "array", "items": text},
        "allowNetwork": flag,
        "allowWrite": flag,
    }
    properties = {
        "code": text,
        "intent": {**text, "description": "Lends tools that fit"},
        "tools": {"type": "array", "items": text, "description": "To lend, by name"},
        "context": {"type": "object"},
        "sandbox_config": {
            "type": "object",
            "description": f"Can only narrow. {'Files: /workspace' if files else 'No files'}; network: {hosts}",
            "properties": config,
        },
    }
    return {"type": "object", "properties": properties, "required": ["code"]}


def _tool(name: str, description: str, parameters: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    annotations = {"annotations": _ANNOTATIONS[name]} if name in _ANNOTATIONS else {}
    return {
        "name": name,
        "description": description,
        "inputSchema": dict(parameters),
        "outputSchema": dict(result),
        **annotations,
    }
