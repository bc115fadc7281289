"""Options that several commands share, with their help texts, and functions that load the toolbox or file they name."""

from __future__ import annotations

import argparse
import shlex
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .exits import REFUSED, CommandError

if TYPE_CHECKING:
    from cortex.settings import Settings
    from cortex.tools import Toolbox
    from cortex.turn import Folder


def behind_an_action(json_help: str) -> ArgumentParser:
    """A parent for the parsers of a command's actions. Its defaults do not reset options given before the action."""
    common = ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--json", action="store_true", help=json_help)
    common.add_argument("--config", type=Path, help=argparse.SUPPRESS)
    common.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    return common


def load_existing(options: Namespace) -> Settings:
    """The settings, for a command that looks at a home or changes what is in one. Raises CommandError when `--home`
    names a folder that does not exist: it is mistyped, and an answer about it would be taken for one about another.

    The default home and that of CORTEX_HOME may not exist yet: before the first run they do not.
    """
    from cortex.settings import load_settings

    settings = load_settings(options.config, home=options.home)
    require_home(options, settings.home)
    return settings


def require_home(options: Namespace, home: Path) -> None:
    """Raises CommandError when `--home` names a folder that does not exist."""
    if options.home is not None and is_missing(home):
        raise CommandError(f'there is no home at "{home}": is --home mistyped? cortex chat and cortex run make one')


def is_missing(home: Path) -> bool:
    """Whether there is nothing at this path. A place that cannot be looked at is not missing."""
    try:
        home.stat()
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False


def add_no_cache(parser: ArgumentParser) -> None:
    """Add `--no-cache`. It puts the changed setting into `options.changed`, for `load_settings`."""
    parser.add_argument(
        "--no-cache",
        dest="changed",
        action="store_const",
        const={"cache": {"enabled": False}},
        default={},
        help="run code even if its result is in the cache",
    )


def add_workspace(parser: ArgumentParser, about_asking: str) -> None:
    """Add `--workspace` and `--commit`, for `folder_of`."""
    parser.add_argument(
        "--workspace",
        metavar="DIR",
        help="a folder that code sees as /workspace; --commit says who decides about changes",
    )
    parser.add_argument(
        "--commit",
        choices=("ask", "auto", "never"),
        help=f"who decides about changes of files: ask (if not said; {about_asking}), auto makes those of every run "
        "that succeeds, never only shows them",
    )


def folder_of(options: Namespace, *, is_needed: bool = True) -> Folder | None:
    """The folder that `--workspace` names, if it does. Raises CommandError."""
    if options.workspace is None:
        if options.commit is not None and is_needed:
            raise CommandError("--commit needs a --workspace to change")
        return None
    from cortex.turn import Folder
    from sandbox import SandboxError

    try:
        return Folder(options.workspace, options.commit or "ask")
    except SandboxError as error:
        raise CommandError(f"--workspace: {error}") from error


def own_toolbox(place: str) -> Toolbox:
    """The toolbox that `--tools MODULE:NAME` names. Raises CommandError."""
    from cortex.chat import ToolsError, load_toolbox

    try:
        return load_toolbox(place)
    except ToolsError as error:
        raise CommandError(f"--tools: {error}") from error


def with_hint(reason: str) -> str:
    """The reason why a neuron does not run, and what the owner can do about it."""
    missing = "there is no tool" in reason
    return f"{reason}. --tools MODULE:NAME lends the tools of a toolbox of yours" if missing else reason


def text_in(name: str) -> str:
    """The text of a file; - is standard input. Raises CommandError."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f'cannot read "{name}": {error.strerror}') from error
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CommandError(f'"{name}" is not UTF-8: invalid byte at position {error.start}') from error


def said_again(options: Namespace) -> str:
    """The given --home and --config, to append to a suggested command so that it uses the same home and settings."""
    given = {"--home": options.home, "--config": options.config}
    return "".join(f" {name} {shlex.quote(str(value))}" for name, value in given.items() if value is not None)


def number_of(things: str, least: int = 0) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or len(text) > 9 or int(text) < least:
            at_least = f", at least {least}," if least else ","
            raise argparse.ArgumentTypeError(f"a number of {things}{at_least} not {text!r:.40}")
        return int(text)

    return read


def refuse_if_killed(settings: Settings) -> None:
    """Raise CommandError if the home's kill switch is on: neither a run nor an MCP server is started then."""
    from neurons import KillSwitch

    killed = KillSwitch(settings.home / "state").refusal()
    if killed is not None:
        raise CommandError(killed, REFUSED)
