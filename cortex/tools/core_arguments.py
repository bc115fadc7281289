"""The arguments of the cortex's own tools. Here an unknown name is passed over, and nothing can be given that is not
listed: no argument chooses hosts, tools or limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .arguments import MAX_ARGUMENT_CHARACTERS, fitted, invalid, object_of, unfenced

TEXT, NUMBER = {"type": "string"}, {"type": "number"}


@dataclass(frozen=True, slots=True)
class _Form:
    parameters: Mapping[str, Mapping[str, Any]]
    needs: str | None = None
    """The parameter without which there is nothing to do; a text alone is meant for it."""
    example: str = ""
    other_names: Mapping[str, str] = field(default_factory=dict)
    """What models call the parameters instead."""


_SENTENCE = _Form(
    {"text": TEXT},
    needs="text",
    example="the words as one text",
    other_names={"message": "text", "content": "text", "memory": "text", "fact": "text"},
)

_FORMS = {
    "core.execute": _Form(
        {
            "purpose": TEXT,
            "code": TEXT,
            "timeout": NUMBER,
            "tier": {"enum": ["isolated", "network"]},
            "expectedOutput": TEXT,
        },
        needs="code",
        example="the body of an async function that returns a value",
        other_names={
            "script": "code",
            "source": "code",
            "javascript": "code",
            "typescript": "code",
            "timeoutMs": "timeout",
            "timeoutMilliseconds": "timeout",
            "reason": "purpose",
        },
    ),
    "core.energy": _Form({}),
    "core.say": _SENTENCE,
    "core.remember": _SENTENCE,
}


def arguments_for(name: str, raw: Any) -> dict[str, Any]:
    """What was meant for the parameters of a core tool: those that were given, each of its type. Raises ToolError, code
    `invalid_arguments`, and nothing else."""
    form = _FORMS[name]
    if _is_meant(raw, form):
        return dict(raw)
    given = object_of(raw, name, form.needs)
    properties = {**form.parameters, **{other: form.parameters[own] for other, own in form.other_names.items()}}
    fit = fitted(given, {"type": "object", "properties": properties})
    arguments: dict[str, Any] = {}
    for key, schema in properties.items():
        own = form.other_names.get(key, key)
        if key in fit and own not in arguments:
            arguments[own] = _checked(fit[key], schema, f'{name}: "{own}"')
    if form.needs is not None and not str(arguments.get(form.needs, "")).strip():
        raise invalid(f'{name} needs "{form.needs}": {form.example}')
    if "code" in arguments:
        arguments["code"] = unfenced(arguments["code"])
    return arguments


def _is_meant(raw: Any, form: _Form) -> bool:
    """Whether there is nothing to understand: an object with the right names and types, of plain and few characters."""
    if type(raw) is not dict or not raw.keys() <= form.parameters.keys() or (form.needs and form.needs not in raw):
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
        elif value not in schema["enum"]:
            return False
    return size <= MAX_ARGUMENT_CHARACTERS


def _checked(value: Any, schema: Mapping[str, Any], what: str) -> Any:
    if "enum" in schema:
        if value not in schema["enum"]:
            raise invalid(f"{what} is one of {', '.join(schema['enum'])}")
        return value
    if schema == NUMBER:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise invalid(f"{what} is a number")
        return value
    match value:
        case str():
            return value
        case int() | float():
            return str(value)
        case [*lines] if all(isinstance(line, str) for line in lines):
            return "\n".join(lines)
    raise invalid(f"{what} is a text")
