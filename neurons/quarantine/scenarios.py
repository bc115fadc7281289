"""The scenarios in which a candidate is tried: signals, and what the network and tools answer. Pure.

Nothing in a signal shows that it is invented: built-in signals have their real shape; the others carry what the habit's
executions were given, or else the fields that the code reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from ..contracts import (
    BUILT_IN,
    SCHEDULE,
    Schedule,
    Signal,
    energy as energy_data,
    hour_changed as hour_changed_data,
    schedule_due,
    tick as tick_data,
    user_message as user_message_data,
)

if TYPE_CHECKING:
    from sandbox import Exchange

    from ..contracts import Neuron, NeuronSettings, Recording, ToolExchange

TYPICAL, EDGES, BURST, FAILURES = "typical signals", "edges", "burst", "network and tools fail"
ODD_ANSWERS, KEPT_STATE, RECORDED = "odd answers", "the state it has", "recorded"

_MAX_FIELDS = 8
_TIMES = 2  # each typical signal twice: the second one finds the state that the first has left

# Half of what a signal may carry: the code has room to repeat it in a signal of its own, and to keep it.
_LONG_SHARE = 0.5
_ODD_CHARACTERS = "e\u0301 \u202eabc\u202c \U0001f9e0\u200d \x00\x1b[2J ${x} </script> ' \" \\ __proto__"
_ODD_VALUES: tuple[Any, ...] = (None, "", _ODD_CHARACTERS, -1e308, [], {})

_FIELD = re.compile(r"\bdata\??\.([A-Za-z_$][\w$]{0,40})")
_FIELDS = re.compile(r"\{([^{}]{1,300})\}\s?=\s?(?:signal\??\.)?data\b")
_NAME = re.compile(r"[A-Za-z_$][\w$]{0,40}")

# Bad answers of servers. Each answers one request, in this order, and the last one all later ones.
_ODD_BODIES = (
    (503, "Service Unavailable", "text/html", b"<html><body>Service Unavailable</body></html>"),
    (200, "OK", "application/json", b"{}"),
    (200, "OK", "application/json", b"null"),
    (200, "OK", "application/json", b""),
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Signals in order, with the state that the first one finds."""

    name: str
    signals: tuple[Signal, ...]
    """Without times and ids: these are set when the signals are delivered."""
    exchanges: tuple[Exchange, ...] = ()
    tool_calls: tuple[ToolExchange, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    at_once: bool = False
    """Delivered in batches, as the layer does with signals that arrive together; else one by one."""
    is_guess: bool = False
    """Nothing was recorded, so the data of signals that are not built in is a guess."""


def scenarios_for(
    neuron: Neuron, recordings: Sequence[Recording], settings: NeuronSettings, *, at: float
) -> tuple[Scenario, ...]:
    """At least three scenarios: typical signals, edge cases and a burst. `at` is the time used in the signals."""
    newest = sorted(recordings, key=lambda recording: recording.at)[-settings.quarantine.max_recorded :]
    exchanges = tuple(exchange for recording in newest for exchange in recording.exchanges)
    tool_calls = tuple(call for recording in newest for call in recording.tool_calls)
    maker = _Maker(neuron, newest, settings, at)
    typical = tuple(maker.typical())
    scenarios = [Scenario(TYPICAL, typical, exchanges, tool_calls)]
    scenarios += [
        Scenario(
            f"{RECORDED} {number}",
            tuple(maker.recorded(recording)),
            tuple(recording.exchanges),
            tuple(recording.tool_calls),
        )
        for number, recording in enumerate(newest, 1)
    ]
    # The typical signals once more at the end: the neuron must still work with whatever state the edge cases left.
    scenarios.append(Scenario(EDGES, (*maker.edges(), *typical), exchanges, tool_calls))
    if neuron.hosts or neuron.tools:
        scenarios.append(Scenario(FAILURES, typical))
    if exchanges:
        answers = tuple(_odd_answers(exchanges))
        scenarios.append(Scenario(ODD_ANSWERS, tuple(maker.typical(len(_ODD_BODIES))), answers, tool_calls))
    scenarios.append(Scenario(BURST, tuple(maker.burst()), exchanges, tool_calls, at_once=True))
    if neuron.state:
        scenarios.append(Scenario(KEPT_STATE, typical, exchanges, tool_calls, neuron.state))
    return tuple(replace(scenario, is_guess=maker.is_guess) for scenario in scenarios)


class _Maker:
    def __init__(self, neuron: Neuron, recordings: Sequence[Recording], settings: NeuronSettings, at: float) -> None:
        self._schedules = neuron.schedules or (Schedule(every="15m"),)
        self._types = (*neuron.input_signals, *([SCHEDULE] if neuron.schedules else []))
        self._settings = settings
        self._moment = datetime.fromtimestamp(at, UTC)
        recorded = [recording.context for recording in recordings if self._is_data(recording.context)]
        self._known = recorded[-1:] or [*_invented(neuron.code)]
        self.is_guess = not recorded

    def typical(self, times: int = _TIMES) -> Iterator[Signal]:
        for number in range(1, times + 1):
            for type_ in self._types:
                yield from (_signal(type_, data) for data in self._data(type_, number))

    def recorded(self, recording: Recording) -> Iterator[Signal]:
        """The recorded context becomes the data of signals that are not built in; built-in ones keep their shape."""
        for type_ in self._types:
            is_given = type_ not in BUILT_IN and self._is_data(recording.context)
            data = recording.context if is_given else self._data(type_, 1)[0]
            yield from (_signal(type_, data) for _ in range(_TIMES))

    def burst(self) -> Iterator[Signal]:
        for number in range(self._settings.quarantine.burst):
            type_ = self._types[number % len(self._types)]
            yield _signal(type_, self._data(type_, number + 1)[0])

    def edges(self) -> Iterator[Signal]:
        for type_ in self._types:
            yield from (_signal(type_, data) for data in self._edges(type_))

    def _data(self, type_: str, number: int) -> Sequence[Any]:
        """The usual data of such a signal; the first is the best guess."""
        match type_:
            case "tick":
                return [tick_data(number, self._settings.autonomic.tick_s)]
            case "hour_changed":
                return [hour_changed_data(self._moment.replace(hour=(self._moment.hour + number) % 24))]
            case "energy":
                level = 0.6963 - number % 4 / 10
                return [energy_data(level, level + 0.1021)]
            case "user_message":
                return [user_message_data("What is on my list for today?" if number % 2 else "Thank you!")]
            case "schedule":
                return [schedule_due(str(each), self._moment, 0) for each in self._schedules]
            case _:
                return self._known

    def _edges(self, type_: str) -> Iterator[Any]:
        typical = self._data(type_, 1)[0]
        yield from (None, {})
        if isinstance(typical, dict):
            yield {**typical, "unexpected": {"nested": [1, {"deep": None}]}}
        match type_:
            case "tick":
                yield tick_data(2**53 - 1, self._settings.autonomic.tick_s)
            case "hour_changed":
                yield from (hour_changed_data(self._moment.replace(hour=hour)) for hour in (0, 23))
            case "energy":
                yield from (energy_data(0.0, 1.0), energy_data(1.0, 0.0))
            case "user_message":
                yield from (user_message_data(text) for text in ("", " \n", _ODD_CHARACTERS, self._long()))
            case "schedule":
                yield schedule_due(str(self._schedules[0]), self._moment, 1_000)
            case _:
                yield from self._odd(typical)

    def _odd(self, typical: Any) -> Iterator[Any]:
        """Odd data: a signal of the host or of another neuron may carry anything."""
        yield from ([], "", "text", 0, -1, 1e308, True, [[None]], {"text": self._long()})
        if not isinstance(typical, dict):
            return
        for name in [*typical][:_MAX_FIELDS]:
            yield {key: value for key, value in typical.items() if key != name}
            yield from ({**typical, name: odd} for odd in _ODD_VALUES)

    def _is_data(self, context: Any) -> bool:
        """Whether the context is not empty and fits into a signal."""
        return bool(context) and len(to_json(context)) <= self._settings.autonomic.max_signal_bytes

    def _long(self) -> str:
        return "long " * int(self._settings.autonomic.max_signal_bytes * _LONG_SHARE / 5)


def _signal(type_: str, data: Any) -> Signal:
    return Signal(type_, "cortex" if type_ in BUILT_IN else "host", data, id="")


def _invented(code: str) -> Iterator[dict[str, Any]]:
    """Data with the fields that the code reads: first all numbers, then all texts. A guess, because what others will
    send is not known."""
    named = [*_FIELD.findall(code), *(name for names in _FIELDS.findall(code) for name in _NAME.findall(names))]
    fields = [*dict.fromkeys(named)][:_MAX_FIELDS] or ["value"]
    yield {name: number for number, name in enumerate(fields, 1)}
    yield dict.fromkeys(fields, "text")


def _odd_answers(exchanges: Sequence[Exchange]) -> Iterator[Exchange]:
    asked = {(each.method, each.url, each.request_body_sha256): each for each in exchanges}
    for exchange in asked.values():
        for status, reason, kind, body in _ODD_BODIES:
            yield exchange.model_copy(
                update={
                    "status": status,
                    "reason": reason,
                    "headers": (("content-type", kind),),
                    "body": body,
                    "truncated": False,
                }
            )
