"""What a model is told of the tools: those of the cortex here, and the form in which all are told.

Every word is paid for in each request, so they are few; and an API may refuse a description of more than 1,024
characters, so what grows with the host's tools and hosts is said at the parameters, where there is room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sandbox import ToolDeclaration, typescript_of

if TYPE_CHECKING:
    from ..sections import ExecuteSettings, Policy

MAX_DESCRIPTION_CHARACTERS = 1_000
MAX_DECLARATION_BYTES = 4_096
MAX_NAMED_HOSTS = 20

CORE_TOOLS = ("core.execute", "core.energy", "core.say", "core.remember", "core.consolidate")

_EXECUTE = """\
Run a short JavaScript or TypeScript program in a fresh, single-use sandbox and get its result as JSON. Use it to \
compute, parse, check or transform data rather than doing that in your head. The code is the body of an async \
function: `return` gives the result. Globals: standard JavaScript (JSON, Math, Date, Intl, URL, crypto, TextEncoder, \
setTimeout …) and console; no import, require, process or files, and nothing is kept between runs. Each run costs \
energy: core_energy tells how much. At most {runs} in one turn. Without a result the answer is EXECUTION_ERROR, \
EXECUTION_TIMEOUT, EXECUTION_BLOCKED or EXECUTION_DENIED with the reason: correct the code, or tell the user."""
_ENERGY = "Your energy: the level, what a run costs in each tier, and how soon it suffices again. Free."
_SAY = "Say something to the user. End your turn with this or with a plain answer, not with both."
_REMEMBER = "Keep one fact about the user or the task that will matter in later conversations. No secrets."
_CONSOLIDATE = """\
Propose a neuron: a small program that answers signals by itself, without you, for what you would otherwise run again \
and again. It is tried on invented and recorded signals, and then the owner decides; nobody else can. Do not wait for \
it, and do not propose the same twice."""
_NEURON_CODE = """\
Body of an async function that runs once for each signal, with `signal` (type, data, at in ms), `state` (a JSON object \
that is kept) and `emit(type, data)`. What differed between your runs belongs into signal.data or state. Compare with \
the value that was emitted last, not with the one that was seen last"""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CoreTool:
    """A tool of the cortex, as the owner's policies see it: allowed, unless they say otherwise."""

    name: str
    policy: Policy = "allow"


def core_definitions(
    settings: ExecuteSettings,
    hosts: Sequence[str] = (),
    lent: Sequence[ToolDeclaration] = (),
    *,
    learns: bool = False,
) -> tuple[ToolDefinition, ...]:
    """The tools of the cortex, always in the same order and the same words for the same settings. `core.consolidate` is
    there where the agent may learn."""
    tools = (
        ToolDefinition("core.execute", _execute_text(settings), _execute_parameters(settings, hosts, lent)),
        ToolDefinition("core.energy", _ENERGY, _object({})),
        ToolDefinition("core.say", _SAY, _object({"text": {"type": "string"}})),
        ToolDefinition(
            "core.remember",
            _REMEMBER,
            _object({"text": {"type": "string", "description": "One sentence that is clear by itself"}}),
        ),
    )
    return (*tools, ToolDefinition("core.consolidate", _CONSOLIDATE, _consolidate_parameters())) if learns else tools


def _execute_text(settings: ExecuteSettings) -> str:
    runs = settings.max_calls_per_turn
    return _EXECUTE.format(runs=f"{runs} run" if runs == 1 else f"{runs} runs")


def _execute_parameters(
    settings: ExecuteSettings, hosts: Sequence[str], lent: Sequence[ToolDeclaration]
) -> dict[str, Any]:
    least, most, longest = settings.min_timeout_ms, settings.max_timeout_isolated_ms, settings.max_timeout_network_ms
    properties = {
        "purpose": {"type": "string", "description": "What the code is for, in a few words, for the owner's log"},
        "code": {"type": "string", "description": _code_text(lent)},
        "timeout": {
            "type": "integer",
            "description": f"Milliseconds, {least} to {most}, in the network tier to {longest}; default: the longest",
        },
        "tier": {
            "type": "string",
            "enum": ["isolated", "network"],
            "description": f"isolated (default): no network. network: costs more; {_hosts_text(hosts)}",
        },
    }
    return _object(properties, required=["purpose", "code"])


def _consolidate_parameters() -> dict[str, Any]:
    names = {"type": "array", "items": {"type": "string"}}
    properties = {
        "name": {"type": "string", "description": "Like CryptoPrice: letters, digits, spaces, _ and -"},
        "purpose": {"type": "string", "description": "One sentence for the owner: what it is good for"},
        "code": {"type": "string", "description": _NEURON_CODE},
        "inputSignals": {**names, "description": "What it answers: tick, hour_changed, energy, or what others emit"},
        "outputSignals": {**names, "description": "What it may emit, like crypto_price_change; may be empty"},
        "energyBudget": {"type": "number", "description": "Energy for one signal, like 0.02"},
        "tier": {"type": "string", "enum": ["isolated", "network"]},
        "hosts": {**names, "description": "All that it fetches from, in the network tier"},
        "tools": {**names, "description": "All tools of the host that it calls"},
        "habit": {"type": "string", "description": "The id of the habit, if you were told of one"},
    }
    return _object(properties, required=list(properties)[:6])


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    needed = list(properties) if required is None else required
    return {
        "type": "object",
        "properties": properties,
        **({"required": needed} if needed else {}),
        "additionalProperties": False,
    }


def _hosts_text(hosts: Sequence[str]) -> str:
    if not hosts:
        return "no host is allowed at present"
    more = len(hosts) - MAX_NAMED_HOSTS
    return "fetch reaches " + ", ".join(hosts[:MAX_NAMED_HOSTS]) + (f" and {more} more" if more > 0 else "")


def _code_text(lent: Sequence[ToolDeclaration]) -> str:
    text = "Body of an async function, with plain data as its result"
    return f"{text}. It may call these tools of the host, and await them:\n{_declared(lent)}" if lent else text


def _declared(lent: Sequence[ToolDeclaration]) -> str:
    """As many declarations as there is room for: one that is too long makes way for others."""
    shown: list[ToolDeclaration] = []
    room = MAX_DECLARATION_BYTES
    for declaration in lent:
        size = len(typescript_of([declaration]).encode())
        if size <= room:
            shown.append(declaration)
            room -= size
    more = len(lent) - len(shown)
    return typescript_of(shown).rstrip() + (f"\n… and {more} more" if more else "")
