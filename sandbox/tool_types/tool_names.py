"""Maps the names of tools to names that code can write: `git-hub/list.commits` becomes `tools.git_hub.list_commits`,
and also `tools.gitHub.listCommits` and `tools["git-hub"]["list.commits"]`. Every name gets a defined result, and none
can break the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain, product
from typing import Any

from ..ports import ToolDeclaration

MAX_NAME_LENGTH = 128

# Own properties of these names would change how JavaScript treats the object that has them.
_MEANINGFUL = frozenset({"__proto__", "constructor", "prototype", "then", "toJSON", "toString", "valueOf"})
_NEVER_LENT = "core"
_UNWRITABLE = re.compile(r"[^A-Za-z0-9_$]")
_WORD = re.compile(r"[A-Za-z0-9$]+")
_CAPITALS = re.compile(r"^(?:[A-Z]+(?![a-z])|[A-Z])")

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lent:
    """A tool lent to this run: its declaration, and its place below `tools`."""

    path: Path
    declaration: ToolDeclaration
    aliases: tuple[Path, ...] = ()
    """Other spellings that lead to it: its own name, its server's name for it, and camelCase."""

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def expression(self) -> str:
        return ".".join(("tools", *self.path))

    def entry(self) -> dict[str, Any]:
        """What the process needs to know about the tool."""
        entry: dict[str, Any] = {"path": self.path, "name": self.name}
        if self.declaration.server is not None:
            entry |= {"server": self.declaration.server, "tool": self.declaration.tool or self.path[-1]}
        if self.aliases:
            entry["aliases"] = self.aliases
        return entry


@dataclass(frozen=True, slots=True)
class Unlent:
    """A tool that cannot be lent, and why."""

    name: str
    reason: str


def place(declarations: Iterable[ToolDeclaration]) -> tuple[Sequence[Lent], Sequence[Unlent]]:
    """Find a place below `tools` for each declaration. When two tools want the same place, the one whose name is
    exactly that gets it, or else the first; the other gets a number. A tool that cannot be lent at all is returned with
    the reason."""
    lent: list[Lent] = []
    unlent: list[Unlent] = []
    names: set[str] = set()
    taken: set[Path] = set()
    numbers: dict[Path, int] = {}
    declared = sorted(declarations, key=_rank)
    for declaration in declared:
        reason = _why_not(declaration.name, names)
        if reason is not None:
            unlent.append(Unlent(declaration.name, reason))
            continue
        names.add(declaration.name)
        path = _free(declaration.places[0] if declaration.places else _path(declaration.name), taken, numbers)
        # A group is taken as a place too: a tool `github` beside `github.list` becomes `github_2`.
        taken.update((path, path[:1]))
        lent.append(Lent(path, declaration))
    return _with_aliases(lent, taken), unlent


def place_of_tools(declarations: Iterable[ToolDeclaration]) -> dict[str, tuple[Path, ...]]:
    """The places of tools that are lent together, by tool name. First the place that the declarations show, then its
    aliases."""
    lent, _ = place(declarations)
    return {tool.name: (tool.path, *tool.aliases) for tool in lent}


def _rank(declaration: ToolDeclaration) -> tuple[bool, bool, bool]:
    """Sort key: first tools with a settled place, then tools in groups, and tools whose name needs no change before
    tools whose name must be changed."""
    parts = _parts(declaration.name)
    return not declaration.places, len(parts) == 1, any(_UNWRITABLE.search(part) for part in parts)


def _with_aliases(lent: Sequence[Lent], taken: set[Path]) -> list[Lent]:
    """Add the aliases. An alias never takes a place from a tool, and an alias that would lead to two tools leads to
    none: code written for one tool must not reach the other."""
    wished = [_wished(tool.declaration) - taken for tool in lent]
    claims = Counter(chain.from_iterable(wished))
    groups = {path[:1] for path in claims if len(path) > 1}
    tools = {tool.path for tool in lent if len(tool.path) == 1}
    spoilt = {path for path, count in claims.items() if count > 1 or path in groups or path[:1] in tools}
    return [
        replace(tool, aliases=tuple(sorted(free))) if (free := paths - spoilt) else tool
        for tool, paths in zip(lent, wished, strict=True)
    ]


def _wished(declaration: ToolDeclaration) -> frozenset[Path]:
    if declaration.places:
        return frozenset(declaration.places[1:])
    return _spellings(declaration.name, declaration.server, declaration.tool)


# Cached: computed for each run, and mostly for the same tools.
@lru_cache(maxsize=4096)
def _spellings(name: str, server: str | None, tool: str | None) -> frozenset[Path]:
    """All spellings that code may use for a tool; they may include its place."""
    found = set(product(*map(_spelled, _parts(name))))
    if server and tool and _why_not(f"{server}.{tool}", set()) is None:
        found.update(product(_spelled(server), _spelled(tool)))
    return frozenset(path for path in found if path[0] != _NEVER_LENT and _MEANINGFUL.isdisjoint(path))


@lru_cache(maxsize=4096)
def _spelled(part: str) -> frozenset[str]:
    return frozenset({part, _identifier(part), _camel(part)})


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


def _path(name: str) -> Path:
    return tuple(_identifier(part) for part in _parts(name))


def _parts(name: str) -> Path:
    group, _, rest = _dotted(name).partition(".")
    return (group, rest) if rest else (group,)


def _identifier(text: str) -> str:
    identifier = _UNWRITABLE.sub("_", text) or "_"
    if identifier[0].isdigit():
        identifier = f"_{identifier}"
    return f"{identifier}_" if identifier in _MEANINGFUL else identifier


def _camel(text: str) -> str:
    """`list-commits`, `ListCommits` and `LIST_COMMITS` as `listCommits`."""
    first, *others = [word.lower() if word.isupper() else word for word in _WORD.findall(text)] or [text]
    first = _CAPITALS.sub(lambda capitals: capitals[0].lower(), first)
    return _identifier("".join((first, *(f"{word[0].upper()}{word[1:]}" for word in others))))


def _free(path: Path, taken: set[Path], numbers: dict[Path, int]) -> Path:
    """The path itself if it is free, else with a number. `numbers` keeps the last number of each path: thousands of
    tools may want the same place, and trying all numbers for each would take quadratic time."""
    *group, last = path
    candidate, number = path, numbers.get(path, 1)
    while candidate in taken:
        number += 1
        candidate = (*group, f"{last}_{number}")
    numbers[path] = number
    return candidate
