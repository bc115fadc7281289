"""`cortex runs`: list what is kept of each run; show, forget or export one."""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from cortex.text import visible

from .exits import SUCCESS, CommandError
from .options import behind_an_action, load_existing, number_of
from .rows import paint, width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cortex.runs import RunFilter
    from cortex.settings import Settings
    from cortex.views import HomeRuns, KeptRun, RunView

DEFAULT_LIMIT = 20
MAX_LIMIT = 1_000
_OUTCOMES = ("ok", "error", "timeout", "cancelled", "host_failed")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]|\Z)")
_CURSOR = re.compile(r"\d{4}-\d{2}-\d{2}(?:\.\d+)?:\d+\Z")
_WHICH = "the id of a run, or a beginning that only it has"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print each run as one line of JSON")
    actions = parser.add_subparsers(dest="action", metavar="[list | open | show RUN | forget RUN | export RUN]")
    common = behind_an_action("print JSON, for programs")
    listed = actions.add_parser("list", parents=[common], help="the newest runs that fit, newest first")
    listed.add_argument("--query", metavar="TEXT", default="", help="in the purpose, the id or the hash of the code")
    listed.add_argument("--outcome", "--state", choices=_OUTCOMES, help="how it ended")
    listed.add_argument("--tier", choices=("isolated", "network"), help="what the code could reach")
    listed.add_argument("--tool", metavar="NAME", help="runs that called this function")
    listed.add_argument("--host", metavar="NAME", help="runs that asked this server")
    listed.add_argument("--turn", metavar="ID", help="runs of this turn")
    listed.add_argument(
        "--before",
        metavar="RUN",
        help="runs before this one, to go on with a list; or before a date, such as 2026-11-19",
    )
    listed.add_argument(
        "--limit",
        type=number_of("runs", least=1),
        default=DEFAULT_LIMIT,
        metavar="N",
        help=f"at most N runs, by default {DEFAULT_LIMIT}",
    )
    show = actions.add_parser("show", parents=[common], help="all that is kept of one run")
    show.add_argument("run", metavar="RUN", help=_WHICH)
    actions.add_parser("open", parents=[common], help="the programs that are open on the home, and what they run now")
    forget = actions.add_parser(
        "forget", parents=[common], help="delete what is kept of a run, or of all before a date"
    )
    forget.add_argument("run", metavar="RUN", nargs="?", help=_WHICH)
    forget.add_argument("--before", metavar="DATE", help="all runs before this date, such as 2026-11-19")
    forget.add_argument("--yes", action="store_true", help="do not ask")
    export = actions.add_parser("export", parents=[common], help="write a run into one file, without secrets")
    export.add_argument("run", metavar="RUN", help=_WHICH)
    export.add_argument("-o", "--output", metavar="FILE", help="the file; by default, standard output")


def run(options: Namespace) -> int:
    # Imported here: `--help` must not wait for it.
    from cortex.audit import AuditError
    from cortex.views import HomeRuns

    settings = load_existing(options)
    try:
        with HomeRuns.opened(settings) as runs:
            match options.action:
                case "show":
                    return _show(runs, options)
                case "open":
                    return _open(runs, options)
                case "forget":
                    return _forget(runs, options, settings)
                case "export":
                    from .runs_change import export

                    return export(runs, chosen(runs, options.run), options, settings)
            return _list(runs, options)
    except (AuditError, ValueError) as error:  # also what is no cursor
        raise CommandError(str(error)) from error
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise CommandError(f"the runs cannot be read: {error.strerror or error}") from error


def chosen(runs: HomeRuns, name: str) -> RunView:
    """The run that the owner means. Raises CommandError."""
    from cortex.runs import AmbiguousRun

    try:
        found = runs.find(name)
    except AmbiguousRun as error:
        raise CommandError(f'"{name[:80]}": {error}') from error
    if found is None:
        raise CommandError(f'"{name[:80]}": there is no such run; cortex runs lists them')
    return found


def _list(runs: HomeRuns, options: Namespace) -> int:
    from .runs_rows import list_lines

    is_filtered = options.action == "list"
    wanted, cursor = _wanted(runs, options)
    limit = min(options.limit, MAX_LIMIT) if is_filtered else DEFAULT_LIMIT
    rows, before, damaged = _found(runs, wanted, cursor, limit)
    if options.json:
        for row in rows:
            print(json.dumps(asdict(row)))
    else:
        for line in list_lines(rows, width(), paint):
            print(line)
    _tell(rows, before, damaged, options)
    return SUCCESS


def _tell(rows: list[KeptRun], before: str | None, damaged: int, options: Namespace) -> None:
    if damaged:
        lines = "1 line cannot" if damaged == 1 else f"{damaged} lines cannot"
        print(f"{lines} be read: damaged, or of another version", file=sys.stderr)
    if not rows:
        print("No run fits" if options.action == "list" else "No runs are kept here", file=sys.stderr)
    elif before is not None and not options.json:
        print(f"There are more: cortex runs list --before {visible(rows[-1].id)}", file=sys.stderr)


def _found(runs: HomeRuns, wanted: RunFilter, cursor: str | None, limit: int) -> tuple[list[KeptRun], str | None, int]:
    """The rows, where the list goes on, and how many lines could not be read. A page of the reader may be short."""
    rows: list[KeptRun] = []
    damaged = 0
    while True:
        page = runs.page(wanted, before=cursor, most=limit - len(rows))
        rows += page.rows
        damaged += page.damaged
        cursor = page.before
        if cursor is None or len(rows) >= limit:
            return rows, cursor, damaged


def _wanted(runs: HomeRuns, options: Namespace) -> tuple[RunFilter, str | None]:
    """The filter, and where to begin."""
    from cortex.runs import EVERY_RUN, RunFilter

    if options.action != "list":
        return EVERY_RUN, None
    cursor, until = (None, None) if options.before is None else _before(runs, options.before)
    return (
        RunFilter(
            text=options.query,
            outcome=options.outcome,
            tier=options.tier,
            tool=options.tool,
            host=options.host,
            turn=options.turn,
            until=until,
        ),
        cursor,
    )


def _before(runs: HomeRuns, text: str) -> tuple[str | None, float | None]:
    """A cursor, or a time: the text is the position or the id of a run, or a date."""
    if _CURSOR.match(text):
        return text, None
    if _DATE.match(text):
        return None, time_of(text)
    return chosen(runs, text).row.position, None


def time_of(text: str) -> float:
    """A date, or a date and time, in local time unless it names another zone. Raises CommandError."""
    try:
        return datetime.fromisoformat(text).astimezone().timestamp()
    except (ValueError, OverflowError) as error:
        raise CommandError(f'"{text[:40]}" is no date: write it like 2026-11-19 or 2026-11-19T14:00') from error


def _show(runs: HomeRuns, options: Namespace) -> int:
    view = chosen(runs, options.run)
    if options.json:
        print(json.dumps(view.as_json()))
        return SUCCESS
    for line in _lines(view):
        print(line)
    return SUCCESS


def _open(runs: HomeRuns, options: Namespace) -> int:
    from .runs_rows import program_lines

    programs = runs.programs()
    if options.json:
        print(json.dumps([program.model_dump(mode="json") for program in programs]))
        return SUCCESS
    for line in program_lines(programs, width(), paint):
        print(line)
    if not programs:
        print("No program is open on this home", file=sys.stderr)
    return SUCCESS


def _forget(runs: HomeRuns, options: Namespace, settings: Settings) -> int:
    from .runs_change import forget

    if (options.run is None) is (options.before is None):
        raise CommandError("say what to forget: a RUN, or all --before a DATE, and not both")
    if options.run is not None:
        return forget(runs, chosen(runs, options.run), None, options, settings)
    return forget(runs, None, time_of(options.before), options, settings)


def _lines(view: RunView) -> Iterator[str]:
    from cortex.text import has_colour, has_symbols

    from .run_page import Look, page_lines

    look = Look(width(), paint, has_symbols=has_symbols(sys.stdout), has_colour=has_colour(sys.stdout))
    return page_lines(view, look)
