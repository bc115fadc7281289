"""The definitions of tools that are sent to the model: of the core tools, and of the tools of the toolbox.

Every word is paid for in each request, so they are few. An API may refuse a description of more than 1,024 characters,
so text that grows with the host's tools and hosts goes to the parameters, where there is room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sandbox import ToolDeclaration, typescript_of

from .names import wire_name
from .owner import PLAN

if TYPE_CHECKING:
    from cortex.settings import ExecuteSettings, Policy

MAX_DESCRIPTION_CHARACTERS = 1_000
MAX_DECLARATION_BYTES = 4_096
MAX_NAMED_HOSTS = 20

Api = Literal["chat", "responses"]
"""OpenAI's two APIs."""

CORE_TOOLS = (
    "core.execute",
    "core.search",
    "core.describe",
    "core.energy",
    "core.say",
    "core.remember",
    "core.consolidate",
    PLAN,
)

_EXECUTE = """\
Run a short JavaScript or TypeScript program in a fresh sandbox and get its value as JSON: compute with it, not in \
your head. Globals: standard JavaScript, console, display(x) to show the user PNG or JPEG bytes, SVG, rows or \
Markdown, store for JSON kept between runs (await store.get(key), set(key, value), delete, keys). \
No import, require, {files} Each run costs energy.{limit} EXECUTION_… is no result and says why: correct the code, or \
tell the user."""
_NO_FILES = "process or files."
_FILES = "process. Files: Deno.readTextFile, writeTextFile, readDir … in /workspace; a failed run changes none."
_SEARCH = "Find functions for code by what they do. Then core_describe them."
_DESCRIBE = "TypeScript declarations of functions by name, or of store, display, files."
_INTENT = "Lends functions that fit these words"
_ENERGY = "Your energy, what runs cost, when there is enough. Free."
_SAY = "Speak to the user. End with this or a plain answer, not both."
_REMEMBER = "Keep one sentence for later conversations. No secrets."
_CONSOLIDATE = """\
Propose once what you run again and again; the owner decides. A neuron answers signals or schedules; code \
calls a function: tools.learned.name(args). habit alone takes its draft. Lists: a, b"""
_NEURON_CODE = """\
Async function body. Neuron: signal {type, data, at}, state (kept), emit(type, data); compare with what was \
emitted last. Function: args; returns"""
_SIGNALS = """\
tick {number, intervalS}, hour_changed {hour, weekday, date}, energy {level, before}, user_message {text}, or others"""
_PLAN = """\
Propose work that must survive a restart or wait for a person; for one answer use core_execute. The owner sees it and \
decides. The answer names the run, never a result."""
_PLAN_TASKS = """\
Each: id, type, dependencies (ids). mcp_tool: tool, arguments; a value "${id.path}" is part of a result. \
code_execution: code, which finds results as context.id, and tools. decision: ask, by (owner or agent)"""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CoreTool:
    """A core tool as the owner's policies see it: allowed, unless they say otherwise."""

    name: str
    policy: Policy = "allow"


def core_definitions(
    settings: ExecuteSettings,
    hosts: Sequence[str] = (),
    lent: Sequence[ToolDeclaration] = (),
    *,
    learns: bool = False,
    searches: bool = False,
    has_turns: bool = True,
    files: bool = False,
    plans: bool = False,
) -> tuple[ToolDefinition, ...]:
    """The core tools, always in the same order and words for the same settings. `core.consolidate` is included if the
    agent may learn, `core.search` and `core.describe` if there are tools that are not listed. Without turns (each call
    is its own turn) the number of runs in a turn is not mentioned. `files`: code has a workspace. `plans`: `core.plan`
    is included, last."""
    text = {"type": "string"}
    searching = (
        ToolDefinition("core.search", _SEARCH, _object({"query": text})),
        ToolDefinition("core.describe", _DESCRIBE, _object({"tools": {"type": "array", "items": text}})),
    )
    tools = (
        ToolDefinition(
            "core.execute",
            _execute_text(settings, has_turns, files),
            _execute_parameters(settings, hosts, lent, searches),
        ),
        *(searching if searches else ()),
        ToolDefinition("core.energy", _ENERGY, _object({})),
        ToolDefinition("core.say", _SAY, _object({"text": text})),
        ToolDefinition("core.remember", _REMEMBER, _object({"text": text})),
    )
    tasks = {"type": "array", "items": {"type": "object"}, "description": _PLAN_TASKS}
    learning = ToolDefinition("core.consolidate", _CONSOLIDATE, _consolidate_parameters())
    planning = ToolDefinition(PLAN, _PLAN, _object({"name": text, "tasks": tasks}))
    return (*tools, *([learning] if learns else []), *([planning] if plans else []))


def _execute_text(settings: ExecuteSettings, has_turns: bool, files: bool) -> str:
    runs = settings.max_calls_per_turn
    free = "; 3 failures without effect are free" if runs else ""
    limit = f" At most {runs} run{'' if runs == 1 else 's'} in one turn{free}." if has_turns or not runs else ""
    return _EXECUTE.format(limit=limit, files=_FILES if files else _NO_FILES)


def _execute_parameters(
    settings: ExecuteSettings, hosts: Sequence[str], lent: Sequence[ToolDeclaration], searches: bool
) -> dict[str, Any]:
    least, most, longest = settings.min_timeout_ms, settings.max_timeout_isolated_ms, settings.max_timeout_network_ms
    most_hosts = MAX_NAMED_HOSTS // 8 if searches else MAX_NAMED_HOSTS
    also = " or with tools" if searches or lent else ""
    properties = {
        "purpose": {"type": "string", "description": "For the owner's log"},
        "code": {"type": "string", "description": _code_text(lent, searches)},
        "timeout": {
            "type": "integer",
            "description": f"Milliseconds, {least} to {most}, in the network tier{also} to {longest}",
        },
        "tier": {
            "enum": ["isolated", "network"],
            "description": f"Default isolated. network costs more; {_hosts_text(hosts, most_hosts)}",
        },
    }
    if searches:
        properties["intent"] = {"type": "string", "description": _INTENT}
    if not settings.later:
        return _object(properties, required=["purpose", "code"])
    properties["later"] = {
        "type": "boolean",
        "description": f"As a job, up to {settings.max_timeout_later_ms} ms; answers with a handle",
    }
    properties["job"] = {"type": "string", "description": "A handle instead of code: its state or result; or cancel it"}
    properties["cancel"] = {"type": "boolean"}
    return _object(properties, required=["purpose"])


def _consolidate_parameters() -> dict[str, Any]:
    # All of it is sent with every request: each list is a text, and kind, tier and returns are taken but not named.
    text = {"type": "string"}
    properties = {
        "habit": text,
        "name": text,
        "purpose": text,
        "code": {**text, "description": _NEURON_CODE},
        "inputSignals": {**text, "description": _SIGNALS},
        "schedules": {**text, "description": "every 15m; at 09:00 mon-fri; once 2030-01-31 09:00"},
        "outputSignals": text,
        "hosts": text,
        "tools": text,
        "energyBudget": {"type": "number"},
        "emission": {**text, "description": "notify, answer, wake or none: text with {fields}"},
        "parameters": {"type": "object", "description": "Schema of args"},
    }
    return _object(properties, required=[])


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    needed = list(properties) if required is None else required
    return {
        "type": "object",
        "properties": properties,
        **({"required": needed} if needed else {}),
        "additionalProperties": False,
    }


def _hosts_text(hosts: Sequence[str], most: int) -> str:
    if not hosts:
        return "no host is allowed at present"
    more = len(hosts) - most
    return "fetch reaches " + ", ".join(hosts[:most]) + (f" and {more} more" if more > 0 else "")


def _code_text(lent: Sequence[ToolDeclaration], searches: bool) -> str:
    text = "Body of an async function: `return` plain data"
    if searches:
        text += ", a summary. May call what core_search finds: await tools.github.listCommits({…})"
    return f"{text}. It may call these tools of the host, and await them:\n{_declared(lent)}" if lent else text


def _declared(lent: Sequence[ToolDeclaration]) -> str:
    """As many declarations as fit. A declaration that is too long is left out; shorter ones after it may still fit."""
    shown: list[ToolDeclaration] = []
    room = MAX_DECLARATION_BYTES
    for declaration in lent:
        size = len(typescript_of([declaration]).encode())
        if size <= room:
            shown.append(declaration)
            room -= size
    more = len(lent) - len(shown)
    return typescript_of(shown).rstrip() + (f"\n… and {more} more" if more else "")


def openai_tools(definitions: Iterable[ToolDefinition], api: Api = "chat") -> list[dict[str, Any]]:
    """A list for `tools=` of chat.completions or of the Responses API, byte for byte the same for the same tools. The
    caller may modify it."""
    match api:
        case "chat":
            return [{"type": "function", "function": _described(tool)} for tool in definitions]
        case "responses":
            # Explicit, because that API is strict by default, and then parameters cannot be optional.
            return [{"type": "function", **_described(tool), "strict": False} for tool in definitions]
    raise ValueError(f'No API {api!r}: there are "chat" and "responses"')


def _described(tool: ToolDefinition) -> dict[str, Any]:
    return {
        "name": wire_name(tool.name),
        "description": tool.description,
        "parameters": deepcopy(dict(tool.parameters)),
    }
