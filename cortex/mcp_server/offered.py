"""The tools that clients see, in the protocol's own words. Plain data, the same bytes for the same settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ..tools import CoreTool, core_definitions, openai_tools, policy_of

if TYPE_CHECKING:
    from ..settings import Settings

EXECUTE_CODE = "execute_code"

CORE = ("core_execute", "core_search", "core_describe", "core_energy", "core_consolidate")
"""Of the cortex's own tools those that make sense to somebody who is not its agent."""

INSTRUCTIONS = (
    "Runs short TypeScript programs in a single-use sandbox. Prefer one program that calls several tools and returns a "
    "summary to many calls that return raw data: find functions with core_search, read their declarations with "
    "core_describe, then run core_execute or execute_code. Each run costs energy, which comes back with time. Nothing "
    "here can approve anything: what needs the owner is decided by the owner, elsewhere."
)

_READS = {"readOnlyHint": True, "openWorldHint": False}
_ADDS = {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": False}
# What runs code may call any tool of the host, so nothing better can be said of it than the protocol assumes.
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
        "note": {"type": "string", "description": "What there is to say beside it"},
    },
    "required": ["text"],
}

_NUMBER = {"type": "number"}
RUN_SCHEMA = {
    "type": "object",
    "properties": {
        "result": {"description": "What the code returned"},
        "logs": {"type": "array", "items": {"type": "string"}},
        "metrics": {
            "type": "object",
            "properties": {"executionTimeMs": _NUMBER, "startupTimeMs": _NUMBER, "memoryUsedMB": _NUMBER},
        },
        "state": {"type": "object", "description": "What the code wants to be kept, if it does"},
        "error": {
            "type": "object",
            "properties": {"type": {"type": "string"}, "message": {"type": "string"}},
            "description": "Why there is no result",
        },
    },
    "required": ["result", "logs", "metrics"],
}

_RUN = (
    "Execute TypeScript code in an isolated, single-use Deno sandbox, with tools that fit `intent` lent to it, and get "
    "its result with logs and metrics. The code is the body of an async function: `return` plain data. Tools are "
    "called as await tools.github.listCommits({…}). Costs energy, like core_execute."
)


def offered(told: Iterable[Mapping[str, Any]], settings: Settings) -> list[dict[str, Any]]:
    """From the tools as a model is told of them. Where code may not be run, `execute_code` is not there either; to
    search is always possible, also where an agent need not, so that a client's configuration does not depend on it."""
    searching = [
        tool
        for tool in core_definitions(settings.execute, searches=True)
        if tool.name in {"core.search", "core.describe"} and policy_of(CoreTool(tool.name), settings.tools) != "deny"
    ]
    given = {tool["function"]["name"]: tool["function"] for tool in (*openai_tools(searching), *told)}
    tools = [
        _tool(name, given[name]["description"], given[name]["parameters"], ANSWER_SCHEMA)
        for name in CORE
        if name in given
    ]
    return [*tools, _tool(EXECUTE_CODE, _RUN, _code_parameters(settings), RUN_SCHEMA)] if CORE[0] in given else tools


def _code_parameters(settings: Settings) -> dict[str, Any]:
    text = {"type": "string"}
    execute, sandbox = settings.execute, settings.sandbox
    hosts = "only hosts that the owner allows" if sandbox.network.allow else "no host is allowed at present"
    longest = execute.max_timeout_network_ms if sandbox.network.allow else execute.max_timeout_isolated_ms
    config = {
        "timeoutMs": {"type": "integer", "description": f"At most {longest}"},
        "heapLimitMB": {"type": "integer", "description": f"At most {min(sandbox.max_heap_mb, sandbox.max_memory_mb)}"},
        "allowedReadPaths": {"type": "array", "items": text, "description": "None can be given"},
        "allowNetwork": {"type": "boolean", "description": f"Costs more; {hosts}"},
        "allowWrite": {"type": "boolean", "description": "Cannot be given"},
    }
    properties = {
        "code": {**text, "description": "TypeScript or JavaScript: the body of an async function"},
        "intent": {**text, "description": "What it is to do: tools that fit are lent to it"},
        "context": {"type": "object", "description": "Data that the code finds as `context`"},
        "sandbox_config": {
            "type": "object",
            "description": "Less than the host gives; more is not to be had",
            "properties": config,
            "additionalProperties": False,
        },
    }
    return {"type": "object", "properties": properties, "required": ["code"], "additionalProperties": False}


def _tool(name: str, description: str, parameters: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    annotations = {"annotations": _ANNOTATIONS[name]} if name in _ANNOTATIONS else {}
    return {
        "name": name,
        "description": description,
        "inputSchema": dict(parameters),
        "outputSchema": dict(result),
        **annotations,
    }
