"""`cortex kill`: stop everything now. Imports almost nothing until that is done, so that it starts fast."""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from cortex.settings import find_home
from cortex.text import styled, visible
from neurons import Killed, KillSwitch, Refused
from sandbox import go_first, go_like_others

from .exits import CODE_FAILED, SUCCESS, CommandError

# No logging before everything is dead: it takes as long to import as the rest.
LOGS = False
_JOURNAL_S = 5.0
DEFAULT_REASON = "the owner stopped everything"
DEFAULT_REASON_FOR_ONE = "the owner stopped this neuron"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", help="why; agents and people are told")
    parser.add_argument("--neuron", metavar="ID", help="only this neuron: its id, the beginning of it, or its name")
    parser.add_argument("--json", action="store_true", help="print {on, was_on, home, reason, processes, problems, …}")


def run(options: Namespace) -> int:
    go_first()
    try:
        return _run(options)
    finally:
        go_like_others()


def _run(options: Namespace) -> int:
    home = find_home(options.home, options.config)
    state = home.path / "state"
    problems = [home.doubt] if home.doubt else []
    neuron = None
    if options.neuron is not None:
        neuron, doubt = neuron_named(state, options.neuron)
        problems += [f"{doubt}; the switch for that id is on anyway"] if doubt else []

    reason = options.reason
    if reason is None:
        reason = DEFAULT_REASON if neuron is None else DEFAULT_REASON_FOR_ONE

    def record(kind: str, /, **facts: Any) -> None:
        _record(home.path, options, kind, facts)

    try:
        killed = KillSwitch(state, record=record).turn_on(reason, "owner", neuron=neuron)
    except Refused as error:
        raise CommandError(str(error)) from error
    problems += killed.problems
    if neuron is None:
        problems += _abort_runs(home.path, str(killed.on))
    if options.json:
        print(json.dumps(_as_json(killed, home.path, problems)))
    else:
        _show(killed, home.path)
        for problem in problems:
            print(f"cortex kill: {visible(problem)}", file=sys.stderr)
    return CODE_FAILED if problems else SUCCESS


def _record(home: Path, options: Namespace, kind: str, facts: dict[str, Any]) -> None:
    """Write to the audit log, once everything is dead: this imports ten times as much as all the rest."""
    go_like_others()
    from cortex.audit import Audit
    from cortex.settings import AuditSettings, SettingsError, load_settings

    from .log_lines import log_lines

    try:
        settings = load_settings(options.config, home=home).audit
    except SettingsError:
        settings = AuditSettings()
    with log_lines("kill"):
        audit = Audit(home / "audit", settings)
        try:
            audit.record(kind, **facts)
        finally:
            audit.close()


def _abort_runs(home: Path, why: str) -> list[str]:
    """Mark every run of a workflow as aborted, also those that no process leads. Returns what could not be done."""
    folder = home / "workflows"
    if not os.path.exists(folder / "journal.sqlite"):
        return []
    go_like_others()
    from cortex.workflows import JournalError, SqliteJournal

    journal = SqliteJournal(folder, busy_s=_JOURNAL_S)
    try:
        journal.stop_all(why, by="kill switch", now=time.time())
    except JournalError as error:
        return [f"runs of workflows cannot be marked as aborted: {error}"]
    finally:
        journal.close()
    return []


def _as_json(killed: Killed, home: Path, problems: list[str]) -> dict[str, Any]:
    return {
        "on": killed.is_on,
        "was_on": killed.was_on,
        "home": str(home),
        **killed.on._asdict(),
        "processes": list(killed.processes),
        "problems": problems,
    }


def _show(killed: Killed, home: Path) -> None:
    on = killed.on
    what = f"The kill switch of {on.neuron}" if on.neuron else "The kill switch"
    when = "is NOT on" if not killed.is_on else "was on already" if killed.was_on else "is on"
    print(f'{styled(what, "bold", sys.stdout)} {when} in "{visible(str(home))}"')
    count = len(killed.processes)
    print("No process was running" if not count else f"{count} process{'es' if count > 1 else ''} killed")
    if not killed.is_on:
        return  # the switch could not be turned on, so there is nothing to revive
    option = f"--neuron {on.neuron} " if on.neuron else ""
    print(styled(f'cortex revive {option}--reason "…" turns it off', "dim", sys.stdout))


def neuron_named(state: Path, named: str) -> tuple[str, str | None]:
    """Returns the neuron's id, and a warning or None. Uses file names without reading the files, if possible: a damaged
    document must not keep the owner from stopping its neuron."""
    try:
        ids = sorted(name.removesuffix(".json") for name in os.listdir(state / "neurons") if name.endswith(".json"))
    except OSError:
        ids = []
    if named in ids:
        return named, None
    found = [one for one in ids if _name_in(state / "neurons" / f"{one}.json") == named]
    found = found or [one for one in ids if named and one.startswith(named)]
    if len(found) == 1:
        return found[0], None
    if found:
        raise CommandError(f'nothing was done: "{named}" may be {", ".join(found[:5])}')
    return named, f'there is no document of a neuron "{named}"'


def _name_in(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())["name"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
