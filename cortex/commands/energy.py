"""`cortex energy`: show the level, the runs it pays for, and the last ledger entries; `set` and `top-up` change it."""

from __future__ import annotations

import json
import sys
import textwrap
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from cortex.audit import Audit, AuditError, AuditJournal
from cortex.energy import (
    EnergyError,
    EnergyNotOnDisk,
    EnergyReserve,
    Entry,
    Forecast,
    TierForecast,
    despite_the_level,
    drawn,
    forecast,
    in_about,
    is_untouched,
    outlook,
    rounded_down,
)
from cortex.home import Home
from cortex.settings import EnergySettings, Settings, load_settings
from cortex.text import has_symbols, local_time, styled, visible, wrapped
from neurons import KillSwitch

from .exits import CODE_FAILED, REFUSED, SUCCESS, CommandError
from .options import behind_an_action, load_existing, number_of
from .rows import width

DEFAULT_LAST = 10
_NOTE_INDENT = 15


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--last", type=number_of("entries"), metavar="N", help=f"show at most N entries, by default {DEFAULT_LAST}"
    )
    parser.add_argument("--json", action="store_true", help="print {level, full_in_s, tiers, jobs, entries, …}")
    actions = parser.add_subparsers(dest="action", metavar="[set LEVEL | top-up AMOUNT]")
    common = behind_an_action("print the entry of the ledger")
    set_ = actions.add_parser("set", parents=[common], help="make this the level")
    set_.add_argument("value", metavar="LEVEL", help="from 0 to 1")
    top_up = actions.add_parser("top-up", parents=[common], help="add to the level, up to 1")
    top_up.add_argument("value", metavar="AMOUNT", help="above 0, up to 1")


def run(options: Namespace) -> int:
    if options.action and options.last is not None:
        raise CommandError(f"--last does not go with {options.action}")
    settings = load_settings(options.config, home=options.home) if options.action else load_existing(options)
    try:
        lines = list(_lines(options, settings))
    except EnergyNotOnDisk as error:
        raise CommandError(str(error), CODE_FAILED) from error
    except EnergyError as error:
        raise CommandError(str(error), REFUSED) from error
    except AuditError as error:
        raise CommandError(f"nothing was changed, because it could not be recorded: {error}", REFUSED) from error
    print("\n".join(lines))
    return SUCCESS


def _lines(options: Namespace, settings: Settings) -> Iterator[str]:
    change = _number(options.action, options.value) if options.action else 0.0
    # Looking creates no folder: the home may be a mistyped path.
    if not options.action and is_untouched(settings.home / "state"):
        yield from _look(settings.energy.initial_level, [], options, settings)
        return
    home = Home(settings.home)
    audit = Audit(home.audit if options.action else settings.home / "audit", settings.audit)
    reserve = EnergyReserve(home.state, settings.energy, on_change=AuditJournal(audit).energy)
    try:
        if options.action:
            yield from _decide(reserve, change, options)
        else:
            last = DEFAULT_LAST if options.last is None else options.last
            # The level first: reading it repairs the ledger if needed, and the repair is one of the entries.
            yield from _look(reserve.level(), reserve.entries(last), options, settings)
    finally:
        reserve.close()
        audit.close()


def _decide(reserve: EnergyReserve, change: float, options: Namespace) -> Iterator[str]:
    before = reserve.level()
    entry = reserve.set(change) if options.action == "set" else reserve.top_up(change)
    if options.json:
        yield json.dumps(entry.model_dump(mode="json"))
    else:
        yield f"Energy {rounded_down(entry.level)}, it was {rounded_down(before)}"


def _number(action: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if action == "set" and not 0 <= number <= 1:
        raise CommandError(f'a level is a number from 0 to 1, not "{text[:40]}"')
    if action == "top-up" and not 0 < number <= 1:
        raise CommandError(f'an amount is a number above 0 and up to 1, not "{text[:40]}"')
    return number


def _look(level: float, entries: list[Entry], options: Namespace, settings: Settings) -> Iterator[str]:
    seen = forecast(level, settings.energy, KillSwitch(settings.home / "state").refusal())
    jobs = _jobs(settings)
    if options.json:
        yield json.dumps({**_as_json(seen, entries, settings.energy), "jobs": jobs})
        return
    heading = f"{styled('Energy', 'bold', sys.stdout)} {rounded_down(seen.level)}"
    yield f"{heading}{_gauge(seen)}  {_full(seen)}".rstrip()
    if settings.energy.recharge_per_minute:
        yield f"recharges {settings.energy.recharge_per_minute:g} a minute"
    else:
        yield "does not recharge by itself: cortex energy top-up AMOUNT"
    if jobs["under_way"]:
        yield f"{_price(jobs['reserved'])} more is reserved for jobs; under way: {jobs['under_way']} (cortex jobs)"
    if seen.killed is not None:
        for line in wrapped(despite_the_level(seen.killed), width()):
            yield styled(line, "red", sys.stdout)
    if (metered := settings.energy.metered).enabled:
        yield f"metered: a run is settled to what it took, from {metered.floor:g} to {metered.ceiling:g}"
    yield ""
    yield styled(f"{'tier':10} {'cost':>6} {'floor':>6}  now", "dim", sys.stdout)
    for tier in seen.tiers:
        yield f"{tier.tier:10} {_price(tier.cost):>6} {_price(tier.floor):>6}  {_now(tier, seen.killed)}"
    if entries:
        yield ""
        head = f"{'time':14} {'amount':>8} {'level':>7}  {'reason':12} {'tier':9} {'turn':9} code"
        yield styled(head, "dim", sys.stdout)
        for entry in entries:
            yield from _entry(entry)


def _as_json(seen: Forecast, entries: list[Entry], settings: EnergySettings) -> dict[str, Any]:
    return {
        "level": seen.level,
        "recharge_per_minute": settings.recharge_per_minute,
        "full_in_s": seen.full_in_s,
        "metered": settings.metered.model_dump(),
        "tiers": [{**asdict(tier), "possible": tier.possible_in_s == 0} for tier in seen.tiers],
        "entries": [entry.model_dump(mode="json") for entry in entries],
        **({} if seen.killed is None else {"killed": seen.killed}),
    }


def _jobs(settings: Settings) -> dict[str, Any]:
    """How many jobs are under way, and the energy that is taken for them."""
    from cortex.jobs import JobRecords
    from neurons import DeferredStorage, StorageError

    records = JobRecords(DeferredStorage(Home(settings.home).state_to_read), time.time)
    try:
        costs = [record.cost for record in records.under_way()]
    except StorageError as error:
        raise EnergyError(f"Cannot look at the jobs: {error}") from error
    finally:
        records.close()
    return {"under_way": len(costs), "reserved": round(sum(costs), 6)}


def _gauge(seen: Forecast) -> str:
    if not has_symbols(sys.stdout):
        return ""
    possible = [tier.possible_in_s == 0 for tier in seen.tiers]
    colour = "green" if all(possible) else "yellow" if any(possible) else "red"
    return f"  {styled(drawn(seen.level, '▰', '▱'), colour, sys.stdout)}"


def _full(seen: Forecast) -> str:
    match seen.full_in_s:
        case None:
            return ""
        case 0:
            return "full"
        case seconds:
            return f"full {in_about(seconds)}"


def _now(tier: TierForecast, killed: str | None) -> str:
    colour = "red" if tier.possible_in_s is None else "yellow" if tier.possible_in_s > 0 else "green"
    return styled(outlook(tier, killed), colour, sys.stdout)


def _entry(entry: Entry) -> Iterator[str]:
    at = local_time(entry.at, "%m-%d %H:%M:%S")
    texts = ((entry.reason, 12), (entry.tier, 9), (entry.turn, 9), (entry.code_hash, 8))
    cells = " ".join(_cell(text or "", width) for text, width in texts)
    yield f"{at} {entry.amount:>+8.4f} {entry.level:>7.4f}  {cells}".rstrip()
    notes = [entry.note] if entry.note else []
    if entry.reserved is not None and entry.settled is not None:
        notes.append(f"{_price(entry.reserved)} reserved, {_price(entry.settled)} settled")
    if entry.by is not None and entry.by != "owner":
        notes.append(f"by {entry.by}")
    for note in notes:
        for line in textwrap.wrap(visible(" ".join(note.split())), 80 - _NOTE_INDENT):
            yield styled(" " * _NOTE_INDENT + line, "dim", sys.stdout)


def _cell(text: str, width: int) -> str:
    return f"{visible(' '.join(text.split()))[:width]:{width}}"


def _price(amount: float) -> str:
    return f"{amount:.2f}" if round(amount, 2) == amount else f"{amount:.4f}"
