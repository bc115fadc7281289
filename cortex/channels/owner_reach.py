"""Who hears what a neuron emits, whom it hears, and what those may reach: two neurons may do together what none of
them may do alone. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from .agent_text import labelled, one_name, some
from .owner_facts import MAX_NAMED

if TYPE_CHECKING:
    from neurons import Neuron

MAX_SHOWN = 8
"""Neurons shown in each direction, at most."""
_STOPPED = "disabled"


def reach_lines(neuron: Neuron, neurons: Sequence[Neuron]) -> Iterator[str]:
    """Two lists: who hears it, and whom it hears, directly or by others. Disabled neurons are left out."""
    if neuron.is_function:
        return
    others = [one for one in neurons if one.id != neuron.id and not one.is_function and one.status.value != _STOPPED]
    yield from _listed("heard by", neuron, others, lambda one, other: _common(one.output_signals, other.input_signals))
    yield from _listed("hears", neuron, others, lambda one, other: _common(other.output_signals, one.input_signals))


def _listed(
    label: str, first: Neuron, others: Sequence[Neuron], between: Callable[[Neuron, Neuron], list[str]]
) -> Iterator[str]:
    """The neurons that can be reached from the first one, the nearest first."""
    found = [(first, "", other, by) for other in others if (by := between(first, other))]
    seen = {first.id, *(other.id for _, _, other, _ in found)}
    at = 0
    while at < len(found):
        _, _, one, _ = found[at]
        for other in others:
            if other.id not in seen and (by := between(one, other)):
                seen.add(other.id)
                found.append((one, one.name, other, by))
        at += 1
    for number, (_, through, other, by) in enumerate(found[:MAX_SHOWN]):
        behind = f", through {one_name(through)}" if through else ""
        told = f"{one_name(other.name)} ({other.status.value}) by {some(by, MAX_NAMED)}{behind}: it {_may(other)}"
        yield labelled(label if number == 0 else "", told)
    if len(found) > MAX_SHOWN:
        yield labelled("", f"… and {len(found) - MAX_SHOWN} more neurons")


def _common(emitted: Sequence[str], heard: Sequence[str]) -> list[str]:
    return [name for name in emitted if name in heard]


def _may(neuron: Neuron) -> str:
    parts = ["hears every word you write"] if "user_message" in neuron.input_signals else []
    parts += [f"asks {some(neuron.hosts, MAX_NAMED)}"] if neuron.hosts else []
    parts += [f"calls {some(neuron.tools, MAX_NAMED)}"] if neuron.tools else []
    return " and ".join(parts) if parts else "reaches no host and no tool"
