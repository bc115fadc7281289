"""Says in sentences what a neuron does, and what it costs in a day. Made from its rights alone: no word of the agent's
decides what the sentence says. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .agent_text import one_name, some

if TYPE_CHECKING:
    from neurons import Around, Neuron, Report, Schedule

MAX_NAMED = 3
MAX_PARAMETERS = 8
DAY_S = 86_400
_EACH = 100
"""The number of signals or calls that a cost is told for when the number in a day is not known."""
_UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_HOURS_A_DAY = 24
# What is typical comes first in a report; the other scenarios are meant to cost more.
_TYPICAL = ("typical signals", "recorded")


def sentence(neuron: Neuron, around: Around) -> str:
    """`Every 15 minutes it asks api.example.com and tells you when it emits price_change.`"""
    if neuron.is_function:
        call = f"tools.learned.{one_name(neuron.function_name)}({_parameters(neuron)})"
        return f"Code may call it as {call}: it {_does(neuron)}."
    when = ", and ".join(_whens(neuron, around)) or "Never"
    hears = " It hears every word you write." if "user_message" in neuron.input_signals else ""
    return f"{when[:1].upper()}{when[1:]} it {_does(neuron)}{_emission(neuron)}.{hears}"


def cost_sentence(neuron: Neuron, around: Around) -> str:
    """`About 96 signals a day, 0.2 energy, 0.05 % of what comes back.`"""
    one = _measured(neuron.report)
    what = "calls" if neuron.is_function else "signals"
    if one is None:
        return (
            f"What it costs is not measured yet: at most {_amount(neuron.energy_budget)} energy for one of its {what}."
        )
    count = signals_a_day(neuron, around)
    if count is None:
        known = f"For each {_EACH} {what}: {_amount(one * _EACH)} energy{_share(one * _EACH, around)}"
        return f"{known}; at most {_amount(neuron.energy_budget * _EACH)}."
    if not count:
        return f"About {_amount(one)} energy, once; at most {_amount(neuron.energy_budget)}."
    most = neuron.energy_budget * count
    signals = "1 signal" if _number(count) == "1" else f"{_number(count)} signals"
    told = f"About {signals} a day, {_amount(one * count)} energy{_share(one * count, around)}"
    return f"{told}; at most {_amount(most)}{_share(most, around, brief=True)}."


def signals_a_day(neuron: Neuron, around: Around) -> float | None:
    """How many signals its schedules and the clock give it in a day; None when it also answers others, or is called."""
    clocks = {"tick": DAY_S / around.tick_s, "hour_changed": float(_HOURS_A_DAY)}
    if neuron.is_function or any(name not in clocks for name in neuron.input_signals):
        return None
    return sum(clocks[name] for name in neuron.input_signals) + sum(map(_times_a_day, neuron.schedules))


def energy_a_day(neuron: Neuron, around: Around) -> float | None:
    """The energy of a day by what was measured; None when that, or the number of signals, is not known."""
    one, count = _measured(neuron.report), signals_a_day(neuron, around)
    return None if one is None or count is None else one * count


def span(seconds: float) -> str:
    """`15 minutes`; `minute` for exactly one."""
    for size, name in _UNITS:
        if seconds >= size and seconds % size == 0:
            count = int(seconds // size)
            return name if count == 1 else f"{count} {name}s"
    return f"{seconds:g} seconds"


def _whens(neuron: Neuron, around: Around) -> Iterator[str]:
    for schedule in neuron.schedules:
        yield _when(schedule)
    built_in = {
        "tick": f"every {span(around.tick_s)}",
        "hour_changed": "every hour",
        "energy": "when the energy crosses a tenth",
        "user_message": "on every message of yours",
    }
    yield from (built_in[name] for name in neuron.input_signals if name in built_in)
    if others := [name for name in neuron.input_signals if name not in built_in]:
        yield f"on each signal {some(others, MAX_NAMED)}"


def _when(schedule: Schedule) -> str:
    zone = f" ({one_name(schedule.zone)})" if schedule.zone else ""
    if schedule.every is not None:
        return f"every {span(schedule.every_s)}"
    if schedule.at is not None:
        return f"at {schedule.time_of_day:%H:%M}{_on(schedule.days)}{zone}"
    return f"once, at {schedule.moment:%Y-%m-%d %H:%M}{zone},"


def _on(days: frozenset[int]) -> str:
    listed = sorted(days)
    if len(listed) == len(_DAYS):
        return " every day"
    if len(listed) > 2 and listed == list(range(listed[0], listed[-1] + 1)):
        return f" from {_DAYS[listed[0]]} to {_DAYS[listed[-1]]}"
    return f" on {some([_DAYS[day] for day in listed], len(_DAYS))}"


def _times_a_day(schedule: Schedule) -> float:
    if schedule.every is not None:
        return DAY_S / schedule.every_s
    return len(schedule.days) / len(_DAYS) if schedule.at is not None else 0.0


def _does(neuron: Neuron) -> str:
    parts = [f"asks {some(neuron.hosts, MAX_NAMED)}"] if neuron.hosts else []
    parts += [f"calls {some(neuron.tools, MAX_NAMED)}"] if neuron.tools else []
    if need := neuron.report.files if neuron.report is not None else "":
        parts.append("works on files" if need == "write" else "reads files")
    return " and ".join(parts) if parts else "only computes (no host, no tool)"


def _emission(neuron: Neuron) -> str:
    if not neuron.output_signals:
        return "; it emits nothing"
    signals = some(neuron.output_signals, MAX_NAMED)
    match neuron.emission.action:
        case "notify":
            return f" and tells you when it emits {signals}"
        case "answer":
            return f" and speaks in your chat, without the model, when it emits {signals}"
        case "wake":
            return f" and starts a turn of the agent when it emits {signals}"
        case "none":
            return f"; you are not told when it emits {signals}"


def _parameters(neuron: Neuron) -> str:
    found = (neuron.parameters or {}).get("properties")
    known = [one_name(str(name)) for name in found] if isinstance(found, dict) else []
    return ", ".join(known[:MAX_PARAMETERS]) + (", …" if len(known) > MAX_PARAMETERS else "")


def _measured(report: Report | None) -> float | None:
    """The energy of a typical signal by its quarantine; None when nothing was measured."""
    if report is None:
        return None
    costs = [(one.name.startswith(_TYPICAL), one.energy) for one in report.scenarios if one.energy > 0]
    typical = [energy for is_typical, energy in costs if is_typical]
    return max(typical or [energy for _, energy in costs], default=None)


def _share(energy: float, around: Around, *, brief: bool = False) -> str:
    if not around.recharge_a_day:
        return "" if brief else ", and none comes back by itself"
    percent = energy / around.recharge_a_day * 100
    told = "less than 0.1" if 0 < percent < 0.1 else f"{percent:.1f}" if percent < 10 else f"{percent:,.0f}"
    return f" ({told} %)" if brief else f", {told} % of what comes back in a day"


def _amount(energy: float) -> str:
    return f"{energy:,.2g}" if energy < 10 else f"{energy:,.0f}"


def _number(count: float) -> str:
    return f"{count:,.0f}" if count >= 10 else f"{count:.2g}"
