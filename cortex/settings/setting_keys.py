"""The keys of settings: their names, where each was set, suggestions for typing errors, and hiding of secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, NamedTuple, get_args, get_origin

from pydantic import BaseModel, SecretStr

PREFIX = "CORTEX_"
HIDDEN = "•••"
ANY = "*"

# In an entry of the allowlist or an MCP server: the host adds these because the code must not see them.
_HIDDEN_TABLES = frozenset({"headers", "query", "env"})
# In an address: the user name and password before the host, and the query.
_HIDDEN_PARTS = re.compile(r"(?<=://)[^/?#@]*(?=@)|(?<=\?).+")

Key = tuple[str, ...]


class SettingValue(NamedTuple):
    """One value from a source: a file, a variable, or the caller. A later one overrides."""

    key: Key
    value: Any
    source: str


class Explained(NamedTuple):
    """A setting in force, with secrets hidden."""

    key: str
    value: Any
    source: str


def variable_of(key: Key) -> str:
    return PREFIX + "__".join(key).upper()


def sources_of(key: Key, said: Sequence[SettingValue]) -> tuple[str, ...]:
    """The sources that set it, the last first. A table can have several, if each set a part of it."""
    found: dict[str, None] = {}
    for other, value, source in reversed(said):
        if key[: len(other)] == other:
            if value != {} or not found:
                found[source] = None
            break
        if other[: len(key)] == key:
            found[source] = None
    return tuple(found)


def leaves(model: type[BaseModel], above: Key = ()) -> Iterator[Key]:
    """Every setting that is not a section, in the order of the models."""
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from leaves(field.annotation, (*above, name))
        elif not field.exclude:
            yield (*above, name)


def known(model: type[BaseModel], above: Key = ()) -> Iterator[str]:
    """Everything that a file may name: settings, sections, and the parts of entries in lists and tables. Names that the
    file chooses are ANY here."""
    for name, field in model.model_fields.items():
        if not field.exclude:
            yield ".".join((*above, name))
            entry = (ANY,) if get_origin(field.annotation) is dict else ()
            for part in _models(field.annotation):
                yield from known(part, (*above, name, *entry))


def known_beside(key: Key, model: type[BaseModel]) -> list[str]:
    """Like `known`, but with the names from this key in place of ANY."""
    names = (name.split(".") for name in known(model))
    return [".".join(_like(part, key, at) for at, part in enumerate(parts)) for parts in names]


def _like(part: str, key: Key, at: int) -> str:
    return key[at] if part == ANY and at < len(key) else part


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _models(argument)


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The dotted name that was probably meant."""
    # Imported late: only a mistake pays for it.
    from difflib import get_close_matches  # noqa: PLC0415

    # The right name in the wrong section is a likelier mistake than another name in this section.
    namesakes = [other for other in names if other.rpartition(".")[2] == name.rpartition(".")[2]]
    matches = get_close_matches(name, namesakes, 1, 0) or get_close_matches(name, names, 1)
    return matches[0] if matches else None


def shown(value: Any) -> Any:
    """The value as JSON, without secrets."""
    view = value
    match value:
        case SecretStr():
            view = HIDDEN
        case BaseModel():
            parts = {name: part for name, part in value if name in value.model_fields_set}
            view = {name: _entry_part(name, part) for name, part in parts.items()}
        case Enum():
            view = value.value
        case os.PathLike():
            view = os.fspath(value)
        case str() if "://" in value:
            view = _HIDDEN_PARTS.sub(HIDDEN, value)
        case Mapping():
            view = {str(name): shown(part) for name, part in value.items()}
        case list() | tuple():
            view = [shown(part) for part in value]
    return view


def _entry_part(name: str, part: Any) -> Any:
    return dict.fromkeys(part, HIDDEN) if name in _HIDDEN_TABLES else shown(part)
