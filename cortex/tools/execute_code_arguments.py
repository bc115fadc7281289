"""Reads the arguments of `execute_code`: code with a context, and limits that are never wider than the host's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .arguments import invalid, object_of
from .core_arguments import NAMES, NUMBER, TEXT
from .fitting import fitted

if TYPE_CHECKING:
    from cortex.settings import Settings

NAME = "execute_code"
MIN_HEAP_MB = 16

_OBJECT = {"type": "object"}
_FLAG = {"type": "boolean"}
_LIMITS: Mapping[str, Mapping[str, Any]] = {
    "timeoutMs": NUMBER,
    "heapLimitMB": NUMBER,
    "allowNetwork": _FLAG,
    "allowWrite": _FLAG,
    "allowedReadPaths": NAMES,
}
_PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    "code": TEXT,
    "intent": TEXT,
    "tools": NAMES,
    "context": _OBJECT,
    "sandbox_config": {"type": "object", "properties": _LIMITS},
}


def code_arguments(raw: Any, settings: Settings) -> dict[str, Any]:
    """The arguments in the form of `core.execute`, with the context. Raises ToolError with code `invalid_arguments`."""
    given = fitted(object_of(raw, NAME, "code"), {"type": "object", "properties": _PARAMETERS})
    code = given.get("code")
    if not isinstance(code, str) or not code.strip():
        raise invalid(f'{NAME} needs "code": the body of an async function that returns a value')
    intent, tools = given.get("intent", ""), given.get("tools", [])
    if not isinstance(intent, str):
        raise invalid(f'{NAME}: "intent" is a text')
    if not isinstance(tools, list) or not all(isinstance(name, str) for name in tools):
        raise invalid(f'{NAME}: "tools" is a list of names')
    context, limits = given.get("context", {}), given.get("sandbox_config", {})
    for name, value in (("context", context), ("sandbox_config", limits)):
        if not isinstance(value, dict):
            raise invalid(f'{NAME}: "{name}" is an object')
    return {"purpose": intent or NAME, "code": code, "intent": intent, "tools": tools, "context": context} | _narrowed(
        limits, settings
    )


def _narrowed(limits: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """The limits of one run. A request for more than the host allows is refused rather than ignored: code that believes
    it may write would fail in unexpected places."""
    unknown = next((name for name in limits if name not in _LIMITS), None)
    if unknown is not None:
        raise invalid(f'{NAME}: sandbox_config has no "{unknown[:60]}"; there are {", ".join(_LIMITS)}')
    if limits.get("allowWrite") or limits.get("allowedReadPaths"):
        raise invalid(f"{NAME}: this host grants no files; leave allowWrite and allowedReadPaths out")
    narrowed: dict[str, Any] = {}
    if limits.get("allowNetwork"):
        if not settings.sandbox.network.allow:
            raise invalid(f"{NAME}: this host allows no network; leave allowNetwork out, or ask its owner")
        narrowed["tier"] = "network"
    for name, key, least in (("timeoutMs", "timeout", 1), ("heapLimitMB", "max_memory_mb", MIN_HEAP_MB)):
        value = limits.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < least:
            raise invalid(f"{NAME}: {name} is a number of at least {least}")
        narrowed[key] = int(value)
    return narrowed
