"""What a neuron has been good for: model calls saved, what it emitted last and who was told, energy a day, next run.

Pure; no text in it can control the terminal. The numbers are those of its document: where a process runs it, they lag
behind by about a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cortex.text import fit, local_time
from neurons import next_run

if TYPE_CHECKING:
    from neurons import Around, Neuron

_HOUR_S, _DAY_S = 3_600, 86_400
_INDENT = "    "


def model_calls_saved(neuron: Neuron) -> int:
    """At least: each call of a function, and each emission of a neuron, which a model would have had to look for."""
    totals = [neuron.counters, *([neuron.trial.counters] if neuron.trial is not None else [])]
    return sum(one.signals - one.errors if neuron.is_function else one.emitted for one in totals)


def energy_of_a_day(neuron: Neuron, around: Around, now: float) -> float | None:
    """Measured since the trial began, if that is an hour ago; else by its quarantine; None when nothing is known."""
    from cortex.channels import energy_a_day

    trial = neuron.trial
    if trial is not None and now - trial.started_at >= _HOUR_S:
        return (trial.counters.energy + neuron.counters.energy) / (now - trial.started_at) * _DAY_S
    return energy_a_day(neuron, around)


def life_lines(neuron: Neuron, around: Around, now: float, width: int) -> Iterator[str]:
    """At most two lines below the neuron's own. Nothing for a neuron that never was awake."""
    if neuron.trial is None:
        return
    saved = model_calls_saved(neuron)
    what = "call" if neuron.is_function else "model call"
    parts = [f"saved {saved:,} {what}{'' if saved == 1 else 's'}"]
    if neuron.is_function:
        parts = [f"called {saved:,} time{'' if saved == 1 else 's'} as tools.learned.{neuron.function_name}"]
    if neuron.is_awake and (energy := energy_of_a_day(neuron, around, now)) is not None:
        parts.append(f"{energy:.2g} energy a day")
    if neuron.is_awake and (at := next_run(neuron, now)) is not None:
        parts.append(f"next run {local_time(at)}")
    yield fit_in(", ".join(parts), width)
    if (last := neuron.last_emission) is not None:
        told = f"told {', '.join(last.told)}" if last.told else "nobody was told"
        # Without a text of its own an emission is told as its type and data.
        text = last.text if last.text.startswith(f"{last.type} ") else f"{last.type}: {last.text}".removesuffix(": ")
        yield fit_in(f"last {local_time(last.at)}, {told}, {text}", width)


def life_facts(neuron: Neuron, around: Around, now: float) -> dict[str, Any]:
    return {
        "modelCallsSaved": model_calls_saved(neuron),
        "energyADay": energy_of_a_day(neuron, around, now),
        "nextRun": next_run(neuron, now) if neuron.is_awake else None,
        "calledAs": f"tools.learned.{neuron.function_name}" if neuron.is_function else None,
    }


def fit_in(text: str, width: int) -> str:
    return f"{_INDENT}{fit(text, max(width - len(_INDENT), 10))}"
