"""The energy of a home as facts for pages: the level, what it allows, how it came about, and what it will be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cortex.energy import EnergyReserve, Entry, Forecast, entries_in, forecast, is_untouched, on_terms, terms_in

if TYPE_CHECKING:
    from cortex.settings import EnergySettings

MAX_ENTRIES = 2_000
"""Entries of the ledger that are read for one page: the file itself only grows."""
HOUR_S = 3_600.0


@dataclass(frozen=True, slots=True)
class Spent:
    """What one origin has spent lately."""

    origin: str
    amount: float
    count: int


@dataclass(frozen=True, slots=True)
class EnergyView:
    at: float
    """When this was looked at."""
    seen: Forecast
    rate: float
    """What comes back in a minute."""
    entries: tuple[Entry, ...]
    """The newest, oldest first."""
    spent: tuple[Spent, ...]
    """In the last hour, the most first."""

    @property
    def level(self) -> float:
        return self.seen.level


def energy_view(state: Path, settings: EnergySettings, now: float, killed: str | None = None) -> EnergyView:
    """The energy on the terms of the programs that spend it, which are in the home; until there are any, on those of
    the settings. Creates nothing in a home without a ledger. Raises EnergyError."""
    settings = on_terms(settings, terms_in(state))
    if is_untouched(state):
        return EnergyView(now, forecast(settings.initial_level, settings, killed), settings.recharge_per_minute, (), ())
    entries = entries_in(state, MAX_ENTRIES)
    level = level_of(state, settings, now)
    return EnergyView(
        now, forecast(level, settings, killed), settings.recharge_per_minute, tuple(entries), spent_in(entries, now)
    )


def level_of(state: Path, settings: EnergySettings, now: float) -> float:
    """The level now, on the terms of the programs that spend. Raises EnergyError."""
    settings = on_terms(settings, terms_in(state))
    if is_untouched(state):
        return settings.initial_level
    reserve = EnergyReserve(state, settings, now=lambda: now)
    try:
        return reserve.level()
    finally:
        reserve.close()


def spent_in(entries: Sequence[Entry], now: float, seconds: float = HOUR_S) -> tuple[Spent, ...]:
    """What was spent since then, by origin: runs of the agent by their tier, neurons by their ids."""
    found: dict[str, tuple[float, int]] = {}
    for entry in entries:
        if entry.at >= now - seconds and entry.by is None and (entry.amount < 0 or entry.reason == "settled"):
            origin = _origin(entry)
            amount, count = found.get(origin, (0.0, 0))
            found[origin] = (amount - entry.amount, count + (entry.reason != "settled"))
    spent = (Spent(origin, amount, count) for origin, (amount, count) in found.items() if amount > 0)
    return tuple(sorted(spent, key=lambda one: (-one.amount, one.origin)))


def _origin(entry: Entry) -> str:
    if entry.reason in {"execution", "settled"}:
        return f"code, {entry.tier.value}" if entry.tier is not None else "code"
    return entry.reason


@dataclass(frozen=True, slots=True)
class Point:
    at: float
    level: float


def course(view: EnergyView, since: float) -> list[Point]:
    """The level from then to now: it rises by recharging, up to 1, and changes by entries."""
    points = list(_points(view))
    after = [point for point in points if point.at >= since]
    before = [point for point in points if point.at < since]
    if before:
        last = before[-1]
        after.insert(0, Point(since, min(1.0, last.level + view.rate * (since - last.at) / 60)))
    elif not after:
        after.insert(0, Point(since, view.level))
    return after


def _points(view: EnergyView) -> Iterator[Point]:
    last: Point | None = None
    for entry in view.entries:
        yield from _rise(last, entry.at, view.rate)
        # Before the change, and after it. A level is never outside of 0 and 1, whatever a ledger says.
        yield Point(entry.at, min(1.0, max(0.0, entry.level - entry.amount)))
        last = Point(entry.at, entry.level)
        yield last
    yield from _rise(last, view.at, view.rate)
    yield Point(view.at, view.level)


def _rise(last: Point | None, until: float, rate: float) -> Iterator[Point]:
    """The moment at which recharging reaches 1, if it does before then."""
    if last is not None and rate > 0 and last.level < 1:
        full_at = last.at + (1 - last.level) / rate * 60
        if full_at < until:
            yield Point(full_at, 1.0)
    elif last is not None and last.level >= 1 and until > last.at:
        yield Point(until, 1.0)


def expected(view: EnergyView, until: float) -> list[Point]:
    """The level from now on, if nothing is spent."""
    points = [Point(view.at, view.level)]
    full_in_s = view.seen.full_in_s
    if full_in_s is not None and view.at + full_in_s < until:
        points.append(Point(view.at + full_in_s, 1.0))
        points.append(Point(until, 1.0))
    else:
        points.append(Point(until, min(1.0, view.level + view.rate * (until - view.at) / 60)))
    return points
