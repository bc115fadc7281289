"""`cortex config`: print the settings in force, and where each came from."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from cortex.settings import (
    DEFAULT,
    HIDDEN,
    Explained,
    Settings,
    SettingsError,
    explain_settings,
    load_settings,
    nearest,
)
from cortex.text import bounded, styled
from sandbox import data_file

from .exits import SUCCESS, CommandError

SERVERS = "mcpServers"
_NAME_WIDTH = 24
_VALUE_WIDTH = 28
_SOURCE_COLUMN = 44
_MAX_SHOWN = 300


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("keys", nargs="*", metavar="KEY", help="only these settings or sections, like energy.metered")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print a list of {key, value, source}")
    form.add_argument("--defaults", action="store_true", help="print the file of defaults, with the reason for each")


def run(options: Namespace) -> int:
    if options.defaults:
        if options.keys:
            raise CommandError("--defaults prints the whole file, and takes no KEY")
        print(data_file("config", "defaults.toml").read_text(encoding="utf-8"), end="")
        return SUCCESS
    explained = _chosen(explain_settings(options.config, home=options.home), options.keys)
    if options.json:
        print(json.dumps([setting._asdict() for setting in explained]))
    else:
        print("\n".join(_lines(explained, _row if sys.stdout.isatty() else _toml_line)))
        if any(setting.key == SERVERS for setting in explained):
            _tell_of_the_home(load_settings(options.config, home=options.home))
    return SUCCESS


def _tell_of_the_home(settings: Settings) -> None:
    """Mention MCP servers added to the home, which are in force but not settings. `cortex mcp` reports an unreadable
    file."""
    from cortex.mcp_config import McpFile

    try:
        count = len(McpFile(settings.home).read())
    except SettingsError:
        count = 0
    if count:
        servers = "1 server" if count == 1 else f"{count} servers"
        print(
            f"cortex config: {SERVERS} is not all: {servers} of cortex mcp add in the home, see cortex mcp list",
            file=sys.stderr,
        )


def _chosen(explained: Sequence[Explained], keys: Sequence[str]) -> list[Explained]:
    chosen: set[str] = set()
    for key in keys:
        found = {setting.key for setting in explained if f"{setting.key}.".startswith(f"{key}.")}
        if not found:
            names = {setting.key.rsplit(".", n)[0] for setting in explained for n in range(3)}
            meant = nearest(key, sorted(names))
            raise CommandError(f'Unknown setting "{key}"' + (f': did you mean "{meant}"?' if meant else ""))
        chosen |= found
    return [setting for setting in explained if not keys or setting.key in chosen]


def _sections(explained: Sequence[Explained]) -> dict[str, list[Explained]]:
    """Settings by section, those without one first: TOML would count them to the heading above."""
    sections: dict[str, list[Explained]] = {"": []}
    for setting in explained:
        sections.setdefault(setting.key.rpartition(".")[0], []).append(setting)
    return {section: settings for section, settings in sections.items() if settings}


def _lines(explained: Sequence[Explained], line_of: Callable[[str, Explained], str]) -> Iterator[str]:
    for n, (section, settings) in enumerate(_sections(explained).items()):
        if n:
            yield ""
        if section:
            yield styled(f"[{section}]", "bold", sys.stdout)
        for setting in settings:
            yield line_of(setting.key.rpartition(".")[2], setting)


def _row(name: str, setting: Explained) -> str:
    value = "none" if setting.value is None else toml(setting.value)
    value = bounded(value, _MAX_SHOWN)
    # A long value is not cut to its column: its source goes to the next line.
    gap = " " if len(value) <= _VALUE_WIDTH else "\n" + " " * (_NAME_WIDTH + _VALUE_WIDTH + 2)
    source = styled(_printable(setting.source), "dim" if setting.source == DEFAULT else "cyan", sys.stdout)
    return f"{name:{_NAME_WIDTH}} {value:{_VALUE_WIDTH}}{gap}{source}"


def _toml_line(name: str, setting: Explained) -> str:
    """A line of a TOML file that gives the same settings again. None and secrets become comments."""
    line = f"# {name} is not set" if setting.value is None else f"{name} = {toml(setting.value)}"
    if HIDDEN in line:
        line = f"# {line}"
    return f"{line:{_SOURCE_COLUMN}}  # {_printable(setting.source)}"


def toml(value: Any) -> str:
    match value:
        case str():
            return _printable(json.dumps(value, ensure_ascii=False))
        case list():
            return f"[{', '.join(toml(part) for part in value)}]"
        case dict() if value:
            return f"{{ {', '.join(f'{toml(name)} = {toml(part)}' for name, part in value.items())} }}"
        case _:
            return json.dumps(value)


def _printable(text: str) -> str:
    """The text with control characters and line ends as escapes that TOML reads back."""
    return "".join(character if character.isprintable() else _escape(character) for character in text)


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
