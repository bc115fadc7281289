"""Import MCP servers from the files of Claude, Cursor, VS Code and similar programs.

Their other keys and spellings are translated, or left out with a warning. Nothing is started, and only the named file
is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from cortex.settings import SERVER_NAME, SSE, McpServerSettings, SettingsError, as_our_references

from .file import TABLE_NAME, checked_servers, json_object, table_in

# VS Code's key for the table of servers.
_OTHER_TABLE = "servers"
_KNOWN = frozenset(McpServerSettings.model_fields)
_URLS = ("url", "httpUrl", "serverUrl")
_TYPES = ("type", "transport", "transportType")
_UNDERSTOOD = frozenset({"stdio", "local", "http", "streamablehttp", "remote"})
_FILE_OF_VARIABLES = "envFile"
# Other programs' names for our keys, and how similar a key must be to count as a typing error of one.
_WORDED = {"arguments": "args", "cmd": "command", "environment": "env", "workingDirectory": "cwd"}
_NEAR = 0.8
_OF_A_COMMAND = frozenset({"args", "env", "cwd"})

# Strings are matched too, so that nothing inside them counts as a comment. A string or comment without an end matches
# to the end of the text, so that the time stays linear.
_COMMENTS = re.compile(r'("(?:[^"\\]|\\.?)*+(?:"|\Z))|//[^\n]*+|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMAS = re.compile(r'("(?:[^"\\]|\\.?)*+(?:"|\Z))|,(?=\s*+[}\]])', re.DOTALL)
_ODD = re.compile(r"[^A-Za-z0-9_-]+", re.ASCII)


class Imported(NamedTuple):
    servers: dict[str, McpServerSettings]
    warnings: tuple[str, ...]


def imported(data: bytes, source: object, names: Sequence[str] = ()) -> Imported:
    """The servers with these names, or all. Raises SettingsError when one of them cannot be used here."""
    table = _table_of(_object_of(data, source), source)
    missing = [name for name in names if name not in table]
    if missing:
        known = ", ".join(table) or "none"
        raise SettingsError(f'"{source}" has no server "{missing[0][:100]}"; there are: {known[:500]}')
    warnings: list[str] = []
    found: dict[str, Any] = {}
    for foreign in names or table:
        name = _fit(foreign)
        if name in found:
            raise SettingsError(f'"{source}" has two servers that would be called "{name}" here; name one of them')
        if name != foreign:
            warnings.append(f'"{foreign[:100]}" is called "{name}" here')
        found[name] = _server(name, table[foreign], warnings.append, source)
    if not found:
        raise SettingsError(f'"{source}" names no servers: neither in "{TABLE_NAME}" nor in "{_OTHER_TABLE}"')
    return Imported(checked_servers(found, source), tuple(dict.fromkeys(warnings)))


def _object_of(data: bytes, source: object) -> dict[str, Any]:
    try:
        return json_object(data, source)
    except SettingsError as error:
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise error from None
        # Editors allow comments and trailing commas.
        plain = _LAST_COMMAS.sub(lambda found: found[1] or "", _COMMENTS.sub(lambda found: found[1] or " ", text))
        if plain == text:
            raise
        return json_object(plain, source)


def _table_of(whole: Mapping[str, Any], source: object) -> Mapping[str, Any]:
    for place in (whole, whole.get("mcp")):
        for name in (TABLE_NAME, _OTHER_TABLE):
            if isinstance(place, Mapping) and name in place:
                return table_in(place, name, source)
    return {}


def _fit(foreign: str) -> str:
    if foreign.casefold() == "core":
        return f"{foreign}-server"
    return foreign if SERVER_NAME.fullmatch(foreign) else _ODD.sub("-", foreign).strip("-")[:40] or "server"


def _server(name: str, given: Any, warn: Callable[[str], None], source: object) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise SettingsError(f'{TABLE_NAME}.{name}: it is not an object (in "{source}")')
    for key in _TYPES:
        _check_type(name, given.get(key))
    ours = {key: value for key, value in given.items() if key in _KNOWN and key != "type" and value is not None}
    url = next((given[key] for key in _URLS if given.get(key) is not None), None)
    if url is not None:
        ours["url"] = url
    if isinstance(given.get("enabled"), bool) and "disabled" not in ours:
        ours["disabled"] = not given["enabled"]
    unused = {key for key in ours if key in _OF_A_COMMAND and ours[key]} if "command" not in ours else set()
    for key in unused:
        del ours[key]
    strange = given.keys() - _KNOWN - {*_URLS, *_TYPES, "enabled"}
    for key in sorted(strange):
        if meant := _meant(key):
            raise SettingsError(f'{TABLE_NAME}.{name}.{key[:40]}: did you mean "{meant}"? (in "{source}")')
    if _FILE_OF_VARIABLES in strange:
        warn(f'"{name}": {_FILE_OF_VARIABLES} is not read; set its variables yourself, with "env"')
    left_out = sorted({*strange, *unused} - {_FILE_OF_VARIABLES})
    if left_out:
        warn(f'"{name}": left out, because it means nothing here: {", ".join(key[:40] for key in left_out[:10])}')
    return {key: as_our_references(value, name, warn) for key, value in _in_texts(ours)}


def _meant(key: str) -> str | None:
    """Our key that this one probably means, or None. It must not be ignored: without its arguments or variables a
    server would behave differently."""
    if key in _WORDED:
        return _WORDED[key]
    near = get_close_matches(key[:40].casefold(), _KNOWN, 1, _NEAR)
    return near[0] if near else None


def _check_type(name: str, given: Any) -> None:
    if given is None:
        return
    kind = re.sub(r"[^a-z]", "", str(given)[:40].casefold())
    if kind == "sse":
        raise SettingsError(f"{TABLE_NAME}.{name}: {SSE}")
    if kind not in _UNDERSTOOD:
        raise SettingsError(f'{TABLE_NAME}.{name}: no transport "{str(given)[:40]}" is spoken here: stdio and http are')


def _in_texts(ours: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """The settings with numbers and booleans as strings, where only strings can be meant."""
    for key, value in ours.items():
        match value:
            case dict() if key in {"env", "headers"}:
                yield key, {name: _text(part) for name, part in value.items() if part is not None}
            case list() if key == "args":
                yield key, [_text(part) for part in value]
            case _:
                yield key, value


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
