"""`cortex stats`: how often hands, habits, neurons and learned functions were used, and what they saved. Only reads."""

from __future__ import annotations

import json
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from .exits import SUCCESS, CommandError
from .options import load_existing

if TYPE_CHECKING:
    from pathlib import Path

    from cortex.audit import Record
    from cortex.settings import Settings
    from cortex.show import HomeUse

DEFAULT_DAYS = 30
MAX_DAYS = 366
MAX_RECORDS = 100_000
"""Records of the audit, and entries of the ledger, that are read: the newest."""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--days", type=_days, default=DEFAULT_DAYS, metavar="N", help=f"the last N days, by default {DEFAULT_DAYS}"
    )
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON, for programs")


def run(options: Namespace) -> int:
    # Imported here: `--help` must not wait for it.
    from cortex.audit import AuditError
    from cortex.energy import EnergyError
    from cortex.text import has_symbols, wrapped
    from neurons import NeuronError

    from .rows import paint, width
    from .stats_rows import facts_of_usage, usage_lines

    settings = load_existing(options)
    try:
        usage, cut = read(settings, options.days, time.time(), MAX_RECORDS)
    except (AuditError, EnergyError, NeuronError) as error:
        raise CommandError(str(error)) from error
    if options.json:
        print(json.dumps({**facts_of_usage(usage), "cut": cut}))
        return SUCCESS
    for line in usage_lines(usage, width(), paint, symbols=has_symbols(sys.stdout)):
        print(line)
    for told in cut:
        print(*wrapped(told, width()), sep="\n", file=sys.stderr)
    return SUCCESS


def read(settings: Settings, days: int, now: float, most: int) -> tuple[HomeUse, list[str]]:
    """What was used in these days, and what was left out of it as sentences. Creates nothing. Raises AuditError,
    EnergyError and NeuronError."""
    from cortex.audit import Audit
    from cortex.home import Home
    from cortex.show import HomeUse

    home = Home(settings.home)
    state = home.state_to_read
    today = datetime.fromtimestamp(now).astimezone()
    usage = HomeUse((today - timedelta(days=days - 1)).date(), today.date())
    audit = Audit(settings.home / "audit", settings.audit)
    try:
        begin = datetime.combine(usage.since, datetime.min.time()).astimezone()
        cut = _heard(usage, audit.newest(begin), most)
    finally:
        audit.close()
    cut += _paid(usage, state, most)
    _learned(usage, state)
    return usage, cut


def _heard(usage: HomeUse, records: Iterable[Record], most: int) -> list[str]:
    oldest = None
    for count, record in enumerate(islice(records, most + 1)):
        if count == most:
            return [f"Only the newest {most:,} records of the audit were read, since {oldest:%Y-%m-%d %H:%M}"]
        usage.hear(record)
        oldest = record.at.astimezone()
    return []


def _paid(usage: HomeUse, state: Path, most: int) -> list[str]:
    from cortex.energy import entries_in

    entries = entries_in(state, most)
    for entry in entries:
        usage.pay(entry)
    is_cut = len(entries) == most
    return [f"Only the newest {most:,} entries of the energy ledger were read"] if is_cut else []


def _learned(usage: HomeUse, state: Path) -> None:
    """Count what stands in documents: habits, and neurons as they are now."""
    from cortex.show import of_habits
    from neurons import DeferredStorage, NeuronStore, Status

    storage = DeferredStorage(state)
    try:
        usage.habits = of_habits(document.data for document in storage.read_all("habits/"))
        neurons = NeuronStore(storage).load_all()
    finally:
        storage.close()
    totals = [one.trial.counters for one in neurons if one.trial is not None] + [one.counters for one in neurons]
    usage.neurons = {
        "neurons": sum(not one.is_function for one in neurons),
        "functions": sum(one.is_function for one in neurons),
        "awake": sum(one.is_awake for one in neurons),
        "waiting": sum(one.status is Status.AWAITING_OWNER for one in neurons),
        "approved": sum(bool(one.approvals) for one in neurons),
        "signals": sum(counters.signals for counters in totals),
        "emitted": sum(counters.emitted for counters in totals),
    }


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:9]) <= MAX_DAYS:
        raise ArgumentTypeError(f"a number of days from 1 to {MAX_DAYS}, not {text!r:.40}")
    return int(text)
