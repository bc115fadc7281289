"""`cortex doctor`: reports what is installed and which limits work on this machine, after trying each of them."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import AsyncIterator
from dataclasses import asdict

import anyio
import anyio.to_thread

from cortex.settings import Settings, load_settings
from cortex.text import hanging, styled
from neurons import KillSwitch
from sandbox import Diagnosis, examine

from .exits import CODE_FAILED, SUCCESS
from .options import is_missing
from .rows import width

_BUSY_S = 5.0
_COLOURS = {"ok": "green", "held": "green", "absent": "yellow", "broken": "red"}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print a list of {name, verdict, detail}")


def run(options: Namespace) -> int:
    settings = load_settings(options.config, home=options.home)
    no_home = options.home is not None and is_missing(settings.home)
    diagnoses = anyio.run(_examine, settings, not options.json, no_home)
    if options.json:
        print(json.dumps([asdict(diagnosis) for diagnosis in diagnoses]))
    return CODE_FAILED if any(diagnosis.verdict == "broken" for diagnosis in diagnoses) else SUCCESS


async def _all(settings: Settings, no_home: bool) -> AsyncIterator[Diagnosis]:
    async for diagnosis in examine(settings.sandbox):
        yield diagnosis
    if no_home:
        yield Diagnosis("kill switch", "absent", f'there is no home at "{settings.home}": is --home mistyped?')
        return
    yield await anyio.to_thread.run_sync(_journal, settings)
    # The doctor's scripts run even when the switch is on: they are this program's own. An agent's scripts do not.
    killed = KillSwitch(settings.home / "state").refusal()
    yield Diagnosis("kill switch", "broken" if killed else "ok", killed or f'off in "{settings.home}"')


def _journal(settings: Settings) -> Diagnosis:
    """The journal of workflows: where, which version, how many runs. Looking creates nothing."""
    from cortex.workflows import DATABASE, SCHEMA_VERSION, JournalError, SqliteJournal

    folder = settings.home / "workflows"
    what = f"SQLite journal, version {SCHEMA_VERSION}"
    if not os.path.lexists(folder / DATABASE):
        return Diagnosis("workflows", "ok", f"{what}, no runs yet")
    journal = SqliteJournal(folder, busy_s=_BUSY_S)
    try:
        runs = ", ".join(f"{count} {status}" for status, count in journal.counts().items())
    except JournalError as error:
        return Diagnosis("workflows", "broken", str(error))
    finally:
        journal.close()
    return Diagnosis("workflows", "ok", f'{what}, runs: {runs or "none"}; in "{folder}"')


async def _examine(settings: Settings, show: bool, no_home: bool) -> list[Diagnosis]:
    diagnoses = []
    async for diagnosis in _all(settings, no_home):
        diagnoses.append(diagnosis)
        if show:  # at once: the trials take a second or two
            print("\n".join(_row(diagnosis)), flush=True)
    return diagnoses


def _row(diagnosis: Diagnosis) -> list[str]:
    first, *rest = hanging(f"{diagnosis.verdict:7} {diagnosis.name:13} ", diagnosis.detail, width())
    verdict = styled(first[:7], _COLOURS[diagnosis.verdict], sys.stdout)
    return [verdict + first[7:], *rest]
