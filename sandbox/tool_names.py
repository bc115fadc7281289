"""From the names that tools have to the names that code can write: `git-hub/list.commits` is
`tools.git_hub.list_commits`. Every name gets a defined answer, and none can spoil the others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .ports import ToolDeclaration

MAX_NAME_LENGTH = 128

# Own properties of these names would change what JavaScript does with the object that carries them.
_MEANINGFUL = frozenset({"__proto__", "constructor", "prototype", "then", "toJSON", "toString", "valueOf"})
_NEVER_LENT = "core"


@dataclass(frozen=True, slots=True)
class Lent:
    """A tool of this run: its own name, and its place below `tools`."""

    path: tuple[str, ...]
    declaration: ToolDeclaration

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def expression(self) -> str:
        return ".".join(("tools", *self.path))


@dataclass(frozen=True, slots=True)
class Unlent:
    """A tool that cannot be lent, and why."""

    name: str
    reason: str


def place(declarations: Iterable[ToolDeclaration]) -> tuple[Sequence[Lent], Sequence[Unlent]]:
    """Find a place below `tools` for each declaration, in their order. Two tools that would share a place do not:
    the later one gets a number. What cannot be lent at all is returned with the reason."""
    lent: list[Lent] = []
    unlent: list[Unlent] = []
    names: set[str] = set()
    taken: set[tuple[str, ...]] = set()
    declared = sorted(declarations, key=lambda tool: "." not in _dotted(tool.name))  # groups first, see below
    for declaration in declared:
        reason = _why_not(declaration.name, names)
        if reason is not None:
            unlent.append(Unlent(declaration.name, reason))
            continue
        names.add(declaration.name)
        path = _free(_path(declaration.name), taken)
        # A group is taken as a place too: a tool `github` beside `github.list` becomes `github_2`.
        taken.update((path, path[:1]))
        lent.append(Lent(path, declaration))
    return lent, unlent


def _why_not(name: str, names: set[str]) -> str | None:
    if not name or len(name) > MAX_NAME_LENGTH or not name.isprintable():
        return f"its name is empty, longer than {MAX_NAME_LENGTH} characters or not printable"
    if _dotted(name).split(".")[0] == _NEVER_LENT:
        return "core tools are never lent: code cannot start code"
    if name in names:
        return "another tool has the same name"
    return None


def _dotted(name: str) -> str:
    return name.replace("/", ".").strip(".")


def _path(name: str) -> tuple[str, ...]:
    group, _, rest = _dotted(name).partition(".")
    parts = (group, rest) if rest else (group,)
    return tuple(_identifier(part) for part in parts)


def _identifier(text: str) -> str:
    identifier = re.sub(r"[^A-Za-z0-9_$]", "_", text) or "_"
    if identifier[0].isdigit():
        identifier = f"_{identifier}"
    return f"{identifier}_" if identifier in _MEANINGFUL else identifier


def _free(path: tuple[str, ...], taken: set[tuple[str, ...]]) -> tuple[str, ...]:
    *group, last = path
    candidate, number = path, 1
    while candidate in taken:
        number += 1
        candidate = (*group, f"{last}_{number}")
    return candidate
