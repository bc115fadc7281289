"""Reads the arguments of the core tools and of `execute_code`. Only listed parameters are accepted.

No argument chooses hosts or widens a limit, and named tools must exist. Core tools ignore unknown names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .arguments import MAX_ARGUMENT_CHARACTERS, invalid, object_of, unfenced
from .fitting import fitted

if TYPE_CHECKING:
    from cortex.settings import Settings

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
NAMES = {"type": "array", "items": TEXT}
# Each name is looked up separately, some for a tenth of a millisecond.
MAX_NAMES = 500
MAX_NAMES_CHARACTERS = 65_536
_BETWEEN_NAMES = re.compile(r"[,;\s]+")
# Unlike names, these have blanks in them.
TEXTS = {"type": "array", "items": TEXT, "description": "texts"}
TIER = {"enum": ["isolated", "network"]}
KIND = {"enum": ["neuron", "function"]}

EXECUTE_CODE = "execute_code"
"""The tool that MCP clients call: code with a context, and limits that are never wider than those of the host."""
MIN_HEAP_MB = 16

_OBJECT = {"type": "object"}
_FLAG = {"type": "boolean"}
_CODE_LIMITS: Mapping[str, Mapping[str, Any]] = {
    "timeoutMs": NUMBER,
    "heapLimitMB": NUMBER,
    "allowNetwork": _FLAG,
    "allowWrite": _FLAG,
    "allowedReadPaths": NAMES,
}
_CODE_PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "code": TEXT,
    "intent": TEXT,
    "tools": NAMES,
    "context": _OBJECT,
    "sandbox_config": {"type": "object", "properties": _CODE_LIMITS},
}


@dataclass(frozen=True, slots=True)
class _Form:
    parameters: Mapping[str, Mapping[str, Any]]
    needs: Mapping[str, str] = field(default_factory=dict)
    """The required parameters, with what belongs there. If there is only one, a bare text is taken for it."""
    other_names: Mapping[str, str] = field(default_factory=dict)
    """Other names that models use for the parameters."""
    instead: str | None = None
    """A parameter that stands for all required ones."""


_SENTENCE = _Form(
    {"text": TEXT},
    needs={"text": "the words as one text"},
    other_names={"message": "text", "content": "text", "memory": "text", "fact": "text"},
)

_WORKSPACE = "/workspace"
_CODE_NAMES = {"script": "code", "source": "code", "javascript": "code", "typescript": "code"}

_FORMS = {
    "core.execute": _Form(
        {
            "purpose": TEXT,
            "code": TEXT,
            "timeout": NUMBER,
            "tier": TIER,
            "expectedOutput": TEXT,
            "intent": TEXT,
            "tools": NAMES,
            "later": _FLAG,
            "job": TEXT,
            "cancel": _FLAG,
        },
        needs={"code": "the body of an async function that returns a value"},
        instead="job",
        other_names={
            **_CODE_NAMES,
            "timeoutMs": "timeout",
            "timeoutMilliseconds": "timeout",
            "reason": "purpose",
        },
    ),
    "core.search": _Form(
        {"query": TEXT},
        needs={"query": "what the tool should do, in a few words"},
        other_names={"intent": "query", "text": "query", "q": "query"},
    ),
    "core.describe": _Form(
        {"tools": NAMES},
        needs={"tools": "names that core.search gave"},
        other_names={"names": "tools", "name": "tools", "tool": "tools"},
    ),
    "core.energy": _Form({}),
    "core.say": _SENTENCE,
    "core.remember": _SENTENCE,
    "core.consolidate": _Form(
        {
            "name": TEXT,
            "purpose": TEXT,
            "code": TEXT,
            "inputSignals": NAMES,
            "outputSignals": NAMES,
            "energyBudget": NUMBER,
            "tier": TIER,
            "hosts": NAMES,
            "tools": NAMES,
            "habit": TEXT,
            "show": _FLAG,
            "kind": KIND,
            "schedules": TEXTS,
            "emission": TEXT,
            "emissionText": TEXT,
            "parameters": _OBJECT,
            "returns": _OBJECT,
        },
        needs={
            "name": "a short name, like CryptoPrice",
            "purpose": "one sentence for the owner",
            "code": "the body of an async function with signal, state and emit; or with args, for a function",
            "energyBudget": "the energy for one signal or call, like 0.02",
        },
        instead="habit",
        other_names={
            **_CODE_NAMES,
            "description": "purpose",
            "reason": "purpose",
            "inputs": "inputSignals",
            "outputs": "outputSignals",
            "budget": "energyBudget",
            "habitId": "habit",
            "schedule": "schedules",
            "result": "returns",
        },
    ),
}


def arguments_for(name: str, raw: Any) -> dict[str, Any]:
    """The given arguments of a core tool, each of its type. Raises ToolError with code `invalid_arguments`, and nothing
    else."""
    form = _FORMS[name]
    if _is_meant(raw, form):
        return dict(raw)
    given = object_of(raw, name, next(iter(form.needs)) if len(form.needs) == 1 else None)
    properties = {**form.parameters, **{other: form.parameters[own] for other, own in form.other_names.items()}}
    fit = fitted(given, {"type": "object", "properties": properties})
    arguments: dict[str, Any] = {}
    for key, schema in properties.items():
        own = form.other_names.get(key, key)
        if key in fit and own not in arguments:
            arguments[own] = _checked(fit[key], schema, f'{name}: "{own}"')
    is_whole = form.instead is not None and bool(arguments.get(form.instead))
    if not is_whole and arguments.get("cancel") and "code" not in arguments:
        raise invalid(f'{name} needs "{form.instead}": the handle of the job to cancel')
    for needed, example in form.needs.items():
        if not is_whole and not str(arguments.get(needed) or "").strip():
            raise invalid(f'{name} needs "{needed}": {example}')
    if "code" in arguments:
        arguments["code"] = unfenced(arguments["code"])
    return arguments


def _is_meant(raw: Any, form: _Form) -> bool:
    """The fast path: whether this is an object with the right names and types, of plain ASCII text within the
    limits."""
    if type(raw) is not dict or not form.needs.keys() <= raw.keys() <= form.parameters.keys():
        return False
    size = 0
    for name, value in raw.items():
        kind, schema = type(value), form.parameters[name]
        if schema is TEXT:
            if kind is not str or not value.isascii() or "```" in value or not value.strip():
                return False
            size += len(value)
        elif schema is NUMBER:
            if kind is not int:
                return False
        elif schema is _FLAG:
            if kind is not bool:
                return False
        elif "enum" not in schema or value not in schema["enum"]:
            return False
    return size <= MAX_ARGUMENT_CHARACTERS


def _checked(value: Any, schema: Mapping[str, Any], what: str) -> Any:
    if "enum" in schema:
        return _one_of(value, schema["enum"], what)
    if schema in (NUMBER, _FLAG, _OBJECT):
        return _of_type(value, schema, what)
    if schema == TEXTS:
        return _texts(value, what)
    return _names(value, what) if schema == NAMES else _text(value, what)


def _one_of(value: Any, choices: Iterable[str], what: str) -> Any:
    if value not in choices:
        raise invalid(f"{what} is one of {', '.join(choices)}")
    return value


def _of_type(value: Any, schema: Mapping[str, Any], what: str) -> Any:
    if schema == _FLAG:
        return _flag(value, what)
    if schema == NUMBER and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise invalid(f"{what} is a number")
    if schema == _OBJECT and not isinstance(value, dict):
        raise invalid(f"{what} is an object")
    return value


def _text(value: Any, what: str) -> str:
    match value:
        case str():
            return value
        case int() | float():
            return str(value)
        case [*lines] if all(isinstance(line, str) for line in lines):
            return "\n".join(lines)
    raise invalid(f"{what} is a text")


def _texts(value: Any, what: str) -> list[str]:
    texts = [text.strip() for text in re.split(r"[;\n]", value) if text.strip()] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise invalid(f"{what} is a list of texts")
    if len(texts) > MAX_NAMES:
        raise invalid(f"{what} has {len(texts)} texts, more than {MAX_NAMES}")
    return texts


def _flag(value: Any, what: str) -> bool:
    if not isinstance(value, bool):
        raise invalid(f"{what} is true or false")
    return value


def _names(value: Any, what: str) -> list[str]:
    """A list of names, or names in one text with commas or blanks between them: no name contains one."""
    if isinstance(value, str):
        if len(value) > MAX_NAMES_CHARACTERS:
            raise invalid(f"{what} is {len(value)} characters long, more than {MAX_NAMES_CHARACTERS}")
        value = _BETWEEN_NAMES.sub(" ", value).split()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        raise invalid(f"{what} is a list of names")
    if len(value) > MAX_NAMES:
        raise invalid(f"{what} has {len(value)} names, more than {MAX_NAMES}")
    return list(dict.fromkeys(name.strip() for name in value if name.strip()))


def code_arguments(raw: Any, settings: Settings, *, files: bool = False) -> dict[str, Any]:
    """The arguments in the form of `core.execute`, with the context; and `only_reads` if the code has files and is not
    to change them. Raises ToolError with code `invalid_arguments`."""
    given = fitted(object_of(raw, EXECUTE_CODE, "code"), {"type": "object", "properties": _CODE_PARAMETERS})
    code = given.get("code")
    if not isinstance(code, str) or not code.strip():
        raise invalid(f'{EXECUTE_CODE} needs "code": the body of an async function that returns a value')
    intent, tools = given.get("intent", ""), given.get("tools", [])
    if not isinstance(intent, str):
        raise invalid(f'{EXECUTE_CODE}: "intent" is a text')
    if not isinstance(tools, list) or not all(isinstance(name, str) for name in tools):
        raise invalid(f'{EXECUTE_CODE}: "tools" is a list of names')
    context, limits = given.get("context", {}), given.get("sandbox_config", {})
    for name, value in (("context", context), ("sandbox_config", limits)):
        if not isinstance(value, dict):
            raise invalid(f'{EXECUTE_CODE}: "{name}" is an object')
    return {
        "purpose": intent or EXECUTE_CODE,
        "code": code,
        "intent": intent,
        "tools": tools,
        "context": context,
    } | _narrowed(limits, settings, files)


def _refuse_unknown(given: Iterable[str], known: Iterable[str], what: str) -> None:
    unknown = next((name for name in given if name not in known), None)
    if unknown is not None:
        raise invalid(f'{what} has no "{unknown[:60]}"; there are {", ".join(known)}')


def _narrowed(limits: Mapping[str, Any], settings: Settings, files: bool) -> dict[str, Any]:
    """The limits of one run. A request for more than the host allows is refused rather than ignored: code that believes
    it may write would fail in unexpected places."""
    _refuse_unknown(limits, _CODE_LIMITS, f"{EXECUTE_CODE}: sandbox_config")
    if not files and (limits.get("allowWrite") or limits.get("allowedReadPaths")):
        raise invalid(f"{EXECUTE_CODE}: this host grants no files; leave allowWrite and allowedReadPaths out")
    if limits.get("allowedReadPaths") not in (None, [], [_WORKSPACE]):
        raise invalid(f"{EXECUTE_CODE}: this host grants {_WORKSPACE}; leave allowedReadPaths out")
    narrowed: dict[str, Any] = {"only_reads": True} if files and limits.get("allowWrite") is False else {}
    if limits.get("allowNetwork"):
        if not settings.sandbox.network.allow:
            raise invalid(f"{EXECUTE_CODE}: this host allows no network; leave allowNetwork out, or ask its owner")
        narrowed["tier"] = "network"
    for name, key, least in (("timeoutMs", "timeout", 1), ("heapLimitMB", "max_memory_mb", MIN_HEAP_MB)):
        value = limits.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < least:
            raise invalid(f"{EXECUTE_CODE}: {name} is a number of at least {least}")
        narrowed[key] = int(value)
    return narrowed
