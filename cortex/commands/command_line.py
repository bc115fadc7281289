"""Parse the command line of `cortex`, run one command and turn its errors into exit codes.

Each command is a module beside this one, imported only when it is used, so that `cortex --help` answers at once.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from cortex.text import terminal_columns, visible

from .exits import INTERRUPTED, SUCCESS, USAGE, CommandError

COMMANDS = {
    "demo": "show every feature, offline, in under a minute",
    "chat": "talk to an agent that can run code",
    "run": "run one script in the sandbox",
    "energy": "show the level, the prices and the ledger; set or top up the level",
    "neurons": "show what the agent has learned and wants to learn; approve, reject, modify, disable, roll back",
    "mcp": "add, list, test and remove MCP servers, whose tools code may call; serve as one",
    "tools": "list and search the tools of the MCP servers; show prints their TypeScript declarations",
    "runs": "list what is kept of each run; show one with its calls and error, forget it, write it into a file",
    "inbox": "list what agents ask you, and answer, from any shell",
    "replay": "run the code of a run again on what it was answered, and say whether the same comes of it",
    "store": "show what conversations keep from run to run; clear it",
    "jobs": "list the runs that go on after their turn; show, cancel and clear them",
    "workflow": "check, run, watch, answer, stop and draw plans of tools, code and questions that survive a crash",
    "console": "open pages in a browser that show what happens, and where you decide; for this machine only",
    "kill": "stop everything now: what runs is killed, and nothing new runs until revive",
    "revive": "turn the kill switch off again",
    "stats": "show how often hands, habits, neurons and learned functions were used, and what they saved",
    "metrics": "print counts and times of everything on the home, for Prometheus",
    "audit": "show what happened, and verify that the record was not changed",
    "config": "print the settings, and where each came from",
    "doctor": "test what works on this machine",
}


def run_command(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Not called `run`: that is the module of the command `cortex run`."""
    try:
        return _run(arguments)
    except KeyboardInterrupt:
        print("Interrupted", file=sys.stderr)
        return INTERRUPTED


def _run(arguments: Sequence[str]) -> int:
    name = _named(arguments)
    # If the command comes first, only its parser: building all of them takes as long as `cortex kill` does to kill.
    parser, commands = parsers((name,) if name is not None and arguments[0] == name else COMMANDS)
    if name is not None:
        module = importlib.import_module(f".{name}", __package__)
        module.add_arguments(commands[name])
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    from cortex.settings import SettingsError

    try:
        with _log_lines(options.command) if getattr(module, "LOGS", True) else nullcontext():
            code = int(module.run(options))
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader closed the pipe. Python flushes stdout at exit, and must not fail on it again.
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        return SUCCESS
    except (CommandError, SettingsError) as error:
        print(f"cortex {options.command}: {visible(str(error))}", file=sys.stderr)
        return error.exit_code if isinstance(error, CommandError) else USAGE


def _log_lines(command: str) -> AbstractContextManager[None]:
    from .log_lines import log_lines

    return log_lines(command)


def _named(arguments: Sequence[str]) -> str | None:
    """The command's name, wherever it stands; not the value of --config or --home that is spelled like a command."""
    before = ("", *arguments)
    pairs = zip(before, arguments, strict=False)
    return next((word for last, word in pairs if word in COMMANDS and last not in {"--config", "--home"}), None)


def parsers(names: Iterable[str] = COMMANDS) -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    description = "Run an LLM agent's code in a sandbox."
    parser = argparse.ArgumentParser(prog="cortex", description=description, formatter_class=_Page)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.set_defaults(command=None)
    parser.set_defaults(config=None, home=None)
    # Allowed before and after the command; SUPPRESS keeps the second place from resetting the first to its default.
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS, formatter_class=_Page)
    for place in (parser, common):
        place.add_argument("--config", type=Path, metavar="FILE", help="settings (TOML), also CORTEX_CONFIG")
        place.add_argument("--home", type=Path, metavar="DIR", help="where state lives, also CORTEX_HOME")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands = {
        name: subparsers.add_parser(name, help=COMMANDS[name], parents=[common], formatter_class=_Page)
        for name in names
    }
    return parser, commands


class _Page(argparse.HelpFormatter):
    """Help as wide as the terminal. Otherwise argparse imports shutil, with its compression modules, for the width."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_columns(sys.stdout) - 2)


class _Version(argparse.Action):
    """Look up the version only when asked: reading the installation's metadata takes longer than all the rest."""

    def __call__(self, *_: object) -> None:
        from importlib.metadata import version

        print(f"motor-cortex {version('motor-cortex')}")
        sys.exit(0)
