"""Write the tables of docs/commands.md: what `cortex COMMAND --help` says of each argument. `make commands` runs it.

The tables come from the parsers and not from the printed pages, which each version of Python breaks into other lines.
"""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from cortex.commands.command_line import COMMANDS, parsers

PAGE = Path(__file__).with_name("commands.md")
BEGIN, END = "<!-- from --help of {}: begin -->", "<!-- from --help of {}: end -->"
# What every command takes, and each of its actions again.
COMMON = {"-h", "--help", "--config", "--home"}


def generated(text: str) -> str:
    """The page with its tables made anew; the rest of it as it is."""
    text = _between("cortex", _table(_rows(parsers()[0], skipped=set())), text)
    for name in COMMANDS:
        parser = argparse.ArgumentParser(add_help=False)
        importlib.import_module(f"cortex.commands.{name}").add_arguments(parser)
        text = _between(f"cortex {name}", _table(_rows(parser, skipped=COMMON)), text)
    return text


def _between(command: str, table: str, text: str) -> str:
    begin, end = BEGIN.format(command), END.format(command)
    pattern = re.compile(rf"{re.escape(begin)}\n.*?{re.escape(end)}", re.S)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f'expected one place for the table of "{command}" in {PAGE.name}')
    return pattern.sub(lambda _: f"{begin}\n\n{table}\n{end}", text)


def _table(rows: Iterator[tuple[str, str]]) -> str:
    lines = [f"| `{words}` | {says} |\n" for words, says in rows]
    return "".join(("| argument | what `--help` says |\n|---|---|\n", *lines))


def _rows(parser: argparse.ArgumentParser, skipped: set[str], above: str = "") -> Iterator[tuple[str, str]]:
    """Each argument as it is typed, with its help. The options of an action stand below it."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from _actions(action, {*COMMON, *parser._option_string_actions})
        elif action.help == argparse.SUPPRESS:
            continue
        elif skipped.isdisjoint(action.option_strings) and (action.option_strings or not above):
            yield f"{above}{_typed(action)}", _help(parser, action)


def _actions(actions: argparse._SubParsersAction, skipped: set[str]) -> Iterator[tuple[str, str]]:
    for choice in actions._choices_actions:
        parser = actions.choices[choice.dest]
        alone = [action for action in parser._actions if not action.option_strings]
        yield (
            " ".join((choice.dest, *map(_typed, alone))),
            "; ".join((choice.help or "", *(f"{_name(action)}: {_help(parser, action)}" for action in alone))),
        )
        yield from _rows(parser, skipped, f"{choice.dest} ")


def _help(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    return parser._get_formatter()._expand_help(action).replace("|", "\\|") if action.help else ""


def _name(action: argparse.Action) -> str:
    return str(action.metavar or action.dest.upper())


def _typed(action: argparse.Action) -> str:
    name = _name(action)
    values = {"?": f"[{name}]", "*": f"[{name}…]", "+": f"{name}…", 0: ""}.get(action.nargs, name)
    return " ".join(part for part in (", ".join(action.option_strings), values) if part)


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
