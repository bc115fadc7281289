"""Formats the use of a home as a table with a small plot, and as JSON. Pure; no text in it can control the terminal.

Keys of the JSON are added, never removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cortex.show import HomeUse, gates
from cortex.text import fit, wrapped

from .rows import Paint

LABEL = 22
_MAX_TOOLS = 5
_MAX_POINTS = 60
_BARS = " ▁▂▃▄▅▆▇█"
_DIGITS = ".123456789"
SERIES = ("runs", "succeeded", "learned calls", "emissions", "energy")


def usage_lines(usage: HomeUse, width: int, paint: Paint, *, symbols: bool) -> Iterator[str]:
    days = (usage.until - usage.since).days + 1
    told = f"The last {days} days, {usage.since} to {usage.until}" if days > 1 else f"{usage.until}"
    yield paint(fit(told, width), "bold")
    yield ""
    for question, answer in gates(usage):
        yield paint(question, "bold")
        yield from (f"  {line}" for line in wrapped(answer, max(width - 2, 20)))
    yield ""
    for label, text in _table(usage):
        yield f"{label:{LABEL}} {fit(text, width - LABEL - 1)}"
    yield ""
    yield from _plots(usage, width, paint, symbols=symbols)


def plot(values: Sequence[float], *, symbols: bool) -> str:
    """One character for each number: a bar, or without symbols a digit, "." for nothing and 9 for the largest."""
    marks, most = _BARS if symbols else _DIGITS, max(values, default=0.0)
    if most <= 0:
        return marks[0] * len(values)
    # What is not nothing is not shown as nothing.
    steps = [max(round(value / most * (len(marks) - 1)), 1) if value > 0 else 0 for value in values]
    return "".join(marks[step] for step in steps)


def _table(usage: HomeUse) -> Iterator[tuple[str, str]]:
    for tier in ("isolated", "network"):
        yield f"runs, {tier}", f"{usage.runs[tier]:,}, {usage.succeeded[tier]:,} succeeded"
    yield "refused", f"{usage.refused:,}"
    yield "from the cache", f"{usage.cached:,}"
    tools = ", ".join(f"{name} {count:,}" for name, count in usage.tools.most_common(_MAX_TOOLS))
    yield "tools called by code", tools or "none"
    habits, neurons = usage.habits, usage.neurons
    yield "habits now", ", ".join(f"{habits.get(what, 0):,} {what}" for what in ("noticed", "told", "learned"))
    decided = ", ".join(f"{count:,} {what}" for what, count in sorted(usage.decisions.items()))
    yield "proposals", decided or "none"
    kinds = ", ".join(_counted(neurons.get(f"{what}s", 0), what) for what in ("neuron", "function"))
    yield "learned now", f"{kinds}: {neurons.get('awake', 0):,} awake, {neurons.get('waiting', 0):,} waiting for you"
    yield (
        "signals answered",
        f"{neurons.get('signals', 0):,}, {neurons.get('emitted', 0):,} emitted (by the versions that are there now)",
    )
    yield "learned calls", f"{usage.learned_calls:,}"
    yield "model calls saved", f"{usage.model_calls_saved:,} at least: emissions and learned calls"
    energy = ", ".join(f"{amount:.3g} {kind}" for kind, amount in sorted(usage.energy.items()))
    yield "energy", energy or "none"


def _plots(usage: HomeUse, width: int, paint: Paint, *, symbols: bool) -> Iterator[str]:
    room = min(_MAX_POINTS, max(width - LABEL - 18, 4))
    for name in SERIES:
        values = usage.series(name, room)
        most = f" at most {max(values):,.3g}" if any(values) else " none"
        yield f"{name:{LABEL}} {paint(plot(values, symbols=symbols), 'cyan')}{most}"
    days = -(-((usage.until - usage.since).days + 1) // room)
    scale = "" if symbols else "; 9 is the most, . is none"
    told = f"each mark is {'a day' if days == 1 else f'{days} days'}, the newest last{scale}"
    yield paint(fit(told, width), "dim")


def _counted(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def facts_of_usage(usage: HomeUse) -> dict[str, Any]:
    return {
        "since": usage.since.isoformat(),
        "until": usage.until.isoformat(),
        "gates": dict(gates(usage)),
        "runs": dict(usage.runs),
        "succeeded": dict(usage.succeeded),
        "refused": usage.refused,
        "cached": usage.cached,
        "repeatedRuns": usage.repeated_runs,
        "tools": dict(usage.tools),
        "learnedCalls": usage.learned_calls,
        "habits": dict(usage.habits),
        "decisions": dict(usage.decisions),
        "neurons": dict(usage.neurons),
        "emissions": usage.emissions,
        "modelCallsSaved": usage.model_calls_saved,
        "energy": {kind: round(amount, 6) for kind, amount in usage.energy.items()},
        "days": {
            day.isoformat(): {**usage.days.get(day, {}), "energy": round(usage.energy_of_days.get(day, 0.0), 6)}
            for day in sorted({*usage.days, *usage.energy_of_days})
        },
        "records": usage.records,
    }
