"""Expands `${env:NAME}` and `${env:NAME:-default}` in settings, and converts references of other programs. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_OURS = re.compile(rf"\$\{{env:({_NAME})(?::-([^${{}}]*))?\}}", re.ASCII)
_ANY = re.compile(r"\$\{([^${}]{1,1000})\}")
_OPEN = re.compile(rf"\$\{{(?:env:)?{_NAME}:-", re.ASCII)
_VARIABLE = re.compile(rf"(?:env:)?({_NAME})(:-.*)?", re.ASCII | re.DOTALL)
_ASKED = re.compile(r"input:([\w-]+)", re.ASCII)
# Variables that only an editor knows.
_OF_EDITORS = re.compile(r"(?:workspace\w*|file\w*|relativeFile\w*|cwd|pathSeparator|execPath)(?::.*)?", re.ASCII)

Warn = Callable[[str], None]


class MissingVariable(ValueError):
    """The environment lacks a referenced variable. The message says which."""


def expanded(text: str, environment: Mapping[str, str]) -> str:
    """The text with each reference replaced; as in a shell, a default also replaces an empty variable. Raises
    MissingVariable."""

    def value(reference: re.Match[str]) -> str:
        name, default = reference.groups()
        if name in environment and (environment[name] or default is None):
            return environment[name]
        if default is None:
            raise MissingVariable(f'the environment has no variable "{name}"')
        return str(default)

    return _OURS.sub(value, text)


def has_reference(text: str) -> bool:
    return _OURS.search(text) is not None


def begins_with_reference(text: str) -> bool:
    return _OURS.match(text) is not None


def defaults_in(text: str) -> list[str]:
    """The default values in the references of the text."""
    return [found[2] for found in _OURS.finditer(text) if found[2]]


def as_our_references(value: Any, server: str, warn: Warn) -> Any:
    """A text, or a list or table of texts, with `${NAME}`, `${NAME:-default}`, `${input:id}` and `${userHome}`
    converted to our form."""
    match value:
        case str():
            text = _ANY.sub(lambda found: _ours(found[0], found[1], server, warn), value)
            if _OPEN.search(_OURS.sub("", text)):
                warn(f'"{server}": a default that has a reference in it means nothing here; it stays as it is')
            return text
        case list():
            return [as_our_references(part, server, warn) for part in value]
        case dict():
            return {name: as_our_references(part, server, warn) for name, part in value.items()}
    return value


def _ours(whole: str, inside: str, server: str, warn: Warn) -> str:
    if inside == "userHome":
        return "${env:HOME}"
    if _OF_EDITORS.fullmatch(inside):
        warn(f'"{server}": {whole} is a place that only an editor knows; it stays as it is')
        return whole
    if asked := _ASKED.fullmatch(inside):
        variable = re.sub(r"\W", "_", asked[1], flags=re.ASCII).upper()
        if not variable[0].isdecimal():
            warn(f'"{server}": what the editor would ask for is taken from the variable {variable}; set it')
            return f"${{env:{variable}}}"
    if found := _VARIABLE.fullmatch(inside):
        return f"${{env:{found[1]}{found[2] or ''}}}"
    warn(f'"{server}": {whole} means nothing here; it stays as it is')
    return whole
