"""References to the environment as other programs write them, in the one spelling that is understood here. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_REFERENCE = re.compile(r"\$\{([^${}]{1,200})\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Places that only an editor knows.
_OF_EDITORS = re.compile(r"(?:workspace\w*|file\w*|relativeFile\w*|cwd|pathSeparator|execPath)(?::.*)?", re.ASCII)

Warn = Callable[[str], None]


def as_our_references(value: Any, server: str, warn: Warn) -> Any:
    """A text, or a list or table of texts, with `${NAME}`, `${NAME:-default}`, `${input:id}` and `${userHome}` written
    as `${env:NAME}`."""
    match value:
        case str():
            return _REFERENCE.sub(lambda found: _ours(found[0], found[1], server, warn), value)
        case list():
            return [as_our_references(part, server, warn) for part in value]
        case dict():
            return {name: as_our_references(part, server, warn) for name, part in value.items()}
    return value


def _ours(whole: str, inside: str, server: str, warn: Warn) -> str:
    name, default, _ = inside.partition(":-")
    kind, _, asked = inside.partition(":")
    variable = re.sub(r"\W", "_", asked, flags=re.ASCII).upper()
    if inside == "userHome":
        name = "HOME"
    elif _OF_EDITORS.fullmatch(inside):
        warn(f'"{server}": {whole} is a place that only an editor knows; it stays as it is')
        return whole
    elif kind == "env" and _NAME.fullmatch(asked):
        name = asked
    elif kind == "input" and _NAME.fullmatch(variable):
        warn(f'"{server}": what the editor would ask for is taken from the variable {variable}; set it')
        name = variable
    elif not _NAME.fullmatch(name):
        warn(f'"{server}": {whole} means nothing here; it stays as it is')
        return whole
    elif default:
        warn(f'"{server}": the default of {name} is left out; the variable has to be set')
    return f"${{env:{name}}}"
