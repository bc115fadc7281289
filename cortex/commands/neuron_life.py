"""What a neuron has been good for: model calls saved, what it emitted last and who was told, energy a day, next run.
And whether it runs now.

Pure; no text in it can control the terminal. The numbers are those of its document: where a process runs it, they lag
behind by about a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex.text import fit, local_time
from neurons import On, next_run

if TYPE_CHECKING:
    from cortex.show import Layer
    from neurons import Around, Neuron, Off

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


@dataclass(frozen=True, slots=True)
class RunsNow:
    """Whether a neuron runs now, as a word for programs and a reason for people. Words are added, never changed."""

    state: str
    """`awake`, `starting`, `resting`, `trouble` or `stopped` by the process that runs it; `ready` of a function that
    can be called; `asleep` when no process runs it; `killed` by the kill switch; `refused` when its document may not
    run; else its status."""
    reason: str = ""
    line: str = ""
    """For a list; empty where the status, or the line of the kill switch, says it all."""

    @property
    def facts(self) -> dict[str, str]:
        return {"state": self.state, "reason": self.reason}


def now_of(neuron: Neuron, on: On | Off, refusal: str | None, rests: float | None, layer: Layer | None) -> RunsNow:
    """`refusal` says why its document may not run, and `rests` until when a function rests."""
    if isinstance(on, On) and (on.neuron or neuron.is_awake):
        return RunsNow("killed", on.reason, f"KILLED: {on.reason}" if on.neuron else "")
    if not neuron.is_awake:
        return RunsNow(neuron.status.value, neuron.reason)
    if refusal:
        return RunsNow("refused", refusal, f"DOES NOT RUN: {refusal}")
    if rests is not None:
        why = "too many calls hung, crashed or cost more than its budget"
        return RunsNow("resting", why, f"rests until {local_time(rests)}: {why}")
    return RunsNow("ready") if neuron.is_function else _in_layer(neuron, layer)


def _in_layer(neuron: Neuron, layer: Layer | None) -> RunsNow:
    if layer is None or not layer.leads:
        return RunsNow("asleep", "no process runs the neurons")
    nerve = layer.nerve(neuron.id)
    return RunsNow("starting") if nerve is None else RunsNow(nerve.state, nerve.reason, str(nerve))


def fit_in(text: str, width: int) -> str:
    return f"{_INDENT}{fit(text, max(width - len(_INDENT), 10))}"
