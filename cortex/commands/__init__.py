"""The command line: `cortex run`, `cortex doctor`, `cortex demo`.

Results go to stdout, everything else to stderr. Exit codes: 0 success, 1 the code failed, 2 usage, 3 refused, 130
interrupted. Commands are imported when they are used, so that `cortex --help` answers at once.
"""

from __future__ import annotations

import argparse
import importlib
import io
import sys
from collections.abc import Sequence
from pathlib import Path

from .exits import INTERRUPTED, USAGE, CommandError

COMMANDS = {
    "run": "run one script in the sandbox",
    "doctor": "say what works on this machine, by trying it",
    "demo": "show a handful of scripts and what each returns",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script. Ends the process with one of the documented codes."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: Sequence[str]) -> int:
    parser, commands = _parsers()
    name = next((argument for argument in arguments if argument in COMMANDS), None)
    if name is not None:
        module = importlib.import_module(f".{name}", __name__)
        module.add_arguments(commands[name])
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 0
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    from cortex import SettingsError
    from cortex.terminal import visible

    try:
        return int(module.run(options))
    except (CommandError, SettingsError) as error:
        print(f"cortex {options.command}: {visible(str(error))}", file=sys.stderr)
        return error.exit_code if isinstance(error, CommandError) else USAGE
    except KeyboardInterrupt:
        print("Interrupted", file=sys.stderr)
        return INTERRUPTED


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(prog="cortex", description="Hands for an LLM agent that can be trusted with them.")
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    parser.set_defaults(command=None)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--config", type=Path, metavar="FILE", help="settings (TOML), also CORTEX_CONFIG")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    commands = {name: subparsers.add_parser(name, help=help_, parents=[common]) for name, help_ in COMMANDS.items()}
    return parser, commands


class _Version(argparse.Action):
    """Looked up when it is asked for: reading the installation's metadata takes longer than all the rest."""

    def __call__(self, *_: object) -> None:
        from importlib.metadata import version

        print(f"motor-cortex {version('motor-cortex')}")
        sys.exit(0)
