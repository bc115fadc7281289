"""`cortex neurons list`, `show`, `habits`, `history`, `export`: only read. They create no folder, because the path of
the home may be mistyped."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cortex.home import Home
from cortex.settings import Settings
from cortex.show import Layer, layer_lines, layer_of
from cortex.text import code_lines, local_time, terminal_columns, visible, wrapped
from cortex.views import activity_parts, counters_of, neurons_in_order
from neurons import (
    LAYER_KEY,
    ApprovalKey,
    DeferredStorage,
    KillSwitch,
    Neuron,
    NeuronError,
    NeuronStore,
    NoSuchNeuron,
    On,
    Status,
    activity_of,
    rests_until,
    why_not_awake,
)

from .exits import REFUSED, CommandError
from .neuron_life import RunsNow, life_facts, life_lines, now_of
from .neuron_rows import (
    counted,
    facts_of,
    habit_facts,
    habit_lines,
    history_lines,
    history_of,
    list_lines,
    progress_text,
)
from .rows import Paint
from .skill_folder import write_skill

if TYPE_CHECKING:
    from neurons import Around, Fingerprint, Habit, Habits

_NO_EDGE = 100_000


def look(options: Namespace, settings: Settings, now: float, width: int, paint: Paint) -> Iterator[str]:
    """The lines to print. Raises CommandError."""
    try:
        seen = _Look(options, settings, now, width, paint)
        try:
            yield from seen.lines()
        finally:
            seen.close()
    except NoSuchNeuron as error:
        raise CommandError(str(error)) from error
    except NeuronError as error:
        raise CommandError(str(error), REFUSED) from error


class _Look:
    def __init__(self, options: Namespace, settings: Settings, now: float, width: int, paint: Paint) -> None:
        self._options = options
        self._settings = settings
        self._now = now
        self._width = width
        self._paint = paint
        state = Home(settings.home).state_to_read
        self._storage = DeferredStorage(state)
        self._store = NeuronStore(self._storage)
        self._switch = KillSwitch(state)
        self._key = ApprovalKey.load(state)
        self._known: Around | None = None

    def close(self) -> None:
        self._storage.close()

    def lines(self) -> Iterator[str]:
        match self._options.action:
            case "show":
                return self._show(self._neuron())
            case "habits":
                return self._some_habits()
            case "history":
                return self._history(self._neuron())
            case "export":
                return self._export(self._neuron())
            case _:
                return self._list()

    def _neuron(self) -> Neuron:
        return self._store.get(self._options.neuron)

    def _list(self) -> Iterator[str]:
        neurons = neurons_in_order(self._store.load_all())
        layer = self._layer()
        if self._options.json:
            yield json.dumps([self._facts(neuron, layer) for neuron in neurons])
            return
        on = self._switch.state()
        if is_killed := isinstance(on, On):
            yield from self._told(str(on), "red")
        if not neurons:
            print("There are no neurons yet", file=sys.stderr)
            return
        seen = {neuron.id: self._seen(neuron, layer) for neuron in neurons}
        around = self._around()
        yield from list_lines(
            neurons,
            self._now,
            self._width,
            self._paint,
            seen,
            lambda neuron: life_lines(neuron, around, self._now, self._width),
        )
        # Functions need no such process: each program that calls one runs it.
        has_nerves = any(neuron.is_awake and not neuron.is_function for neuron in neurons)
        below = layer_lines(layer, is_killed=is_killed) if has_nerves else []
        if any(neuron.status is Status.AWAITING_OWNER for neuron in neurons):
            below.append("To decide: cortex neurons show ID, and then approve, reject or modify")
        if below:
            yield ""
        for line in below:
            yield from self._told(line, "dim")

    def _show(self, neuron: Neuron) -> Iterator[str]:
        from cortex.channels import how_to_decide, owner_view, set_in

        layer = self._layer()
        if self._options.json:
            yield json.dumps(self._facts(neuron, layer, in_full=True))
            return
        habit = self._habits().get(neuron.metadata.habit) if neuron.metadata.habit else None
        # Wrap only for a terminal: a file or a pipe keeps the lines of the code.
        width = terminal_columns(sys.stdout) if sys.stdout.isatty() else _NO_EDGE
        lived = [f"  {'worth' if at == 0 else '':13} {line.strip()}" for at, line in enumerate(self._lived(neuron))]
        lines = [*owner_view(neuron, habit, self._around()), *_more_of(neuron, self._now), *self._day(neuron), *lived]
        if (seen := self._seen(neuron, layer)) and not isinstance(self._switch.state(neuron.id), On):
            lines.append(f"  {'now':13} {seen}")
        if neuron.request is not None:
            lines += ["", how_to_decide(neuron)]
        elif neuron.status is Status.DISABLED:
            lines += ["", f"To let it run again: cortex neurons enable {neuron.id}"]
        first, *rest = set_in(lines, width)
        yield self._paint(first, "bold")
        yield from rest
        if isinstance(on := self._switch.state(neuron.id), On):
            yield from self._told(str(on), "red")

    def _lived(self, neuron: Neuron) -> Iterator[str]:
        return life_lines(neuron, self._around(), self._now, _NO_EDGE)

    def _around(self) -> Around:
        from cortex.channels import around_of

        if self._known is None:
            self._known = around_of(self._store.load_all(), self._settings, self._key)
        return self._known

    def _habits(self) -> Habits:
        # Imported late: the list needs none of it.
        from neurons import Habits

        return Habits(self._storage, self._settings.neurons.habits, read=_unread)

    def _layer(self) -> Layer | None:
        found = self._storage.read(LAYER_KEY)
        return layer_of(found.data if found is not None else None)

    def _facts(self, neuron: Neuron, layer: Layer | None, *, in_full: bool = False) -> dict[str, Any]:
        nerve = layer.nerve(neuron.id) if layer is not None else None
        life = {
            "now": self._now_of(neuron, layer).facts,
            "restsUntil": self._rests_until(neuron),
            **life_facts(neuron, self._around(), self._now),
        }
        return facts_of(neuron, self._now, self._switch.state(neuron.id), nerve, life, in_full=in_full)

    def _now_of(self, neuron: Neuron, layer: Layer | None) -> RunsNow:
        refusal = why_not_awake(neuron, self._key) if neuron.is_awake and self._key is not None else None
        return now_of(neuron, self._switch.state(neuron.id), refusal, self._rests_until(neuron), layer)

    def _rests_until(self, neuron: Neuron) -> float | None:
        return rests_until(neuron, self._now, self._settings.neurons.trial)

    def _seen(self, neuron: Neuron, layer: Layer | None) -> str:
        """Why the neuron does not run although it should, or what the layer says of it; empty when all is well."""
        return self._now_of(neuron, layer).line

    def _told(self, text: str, style: str) -> Iterator[str]:
        for line in wrapped(text, self._width):
            yield self._paint(line, style)

    def _day(self, neuron: Neuron) -> Iterator[str]:
        parts = activity_parts(activity_of(self._storage, neuron.id), self._now)
        if parts:
            signals, emitted = sum(part.signals for part in parts), sum(part.emitted for part in parts)
            errors = sum(part.errors for part in parts)
            yield f"  {'in 24 h':13} {signals} signals, {emitted} emitted, {errors} errors"

    def _history(self, neuron: Neuron) -> Iterator[str]:
        if self._options.json:
            yield json.dumps(history_of(neuron))
        else:
            yield from history_lines(neuron, self._width, self._paint)

    def _some_habits(self) -> Iterator[str]:
        named = self._options.habit
        if named is not None:
            yield from self._habit(named)
            return
        habits = self._habits().all()
        if self._options.json:
            yield json.dumps([habit_facts(habit) for habit in habits])
        elif habits:
            yield from habit_lines(habits, self._width, self._paint)
        else:
            print("No script has come back often enough yet", file=sys.stderr)

    def _habit(self, named: str) -> Iterator[str]:
        habit = self._habits().get(named)
        if habit is None:
            raise CommandError(f'there is no habit "{named}"')
        yield from [json.dumps(habit_facts(habit, in_full=True))] if self._options.json else _about(habit)

    def _export(self, neuron: Neuron) -> Iterator[str]:
        try:
            folder = write_skill(neuron, self._options.to)
        except FileExistsError as error:
            raise CommandError(f"nothing was written: {error}") from error
        except OSError as error:
            raise CommandError(f'cannot write to "{self._options.to}": {error.strerror or error}') from error
        yield json.dumps({"folder": str(folder)}) if self._options.json else str(folder)


async def _unread(_: str) -> Fingerprint | None:
    """A reader that reads nothing: these commands fingerprint no code."""
    return None


def _more_of(neuron: Neuron, now: float) -> Iterator[str]:
    """Lines below the owner's view: trial, counters, last error. The caller makes control characters visible."""
    if neuron.status is Status.TRIAL:
        yield f"  {'trial':13} {progress_text(neuron, now)}"
    if counters_of(neuron).signals:
        yield f"  {'so far':13} {counted(neuron, counters_of(neuron))}"
    if error := counters_of(neuron).last_error:
        yield f"  {'last error':13} {' '.join(error.split())}"
    # Below an open question the approval of an earlier version would look like one of this.
    if neuron.approvals and neuron.request is None:
        last = neuron.approvals[-1]
        yield f"  {'approved':13} {local_time(last.at)}, by {last.by}"
    if neuron.state:
        yield f"  {'state':13} {len(json.dumps(neuron.state))} bytes of JSON"
    if len(neuron.versions) > 1:
        yield f"  {'versions':13} {len(neuron.versions)}, see cortex neurons history {neuron.id}"


def _about(habit: Habit) -> Iterator[str]:
    yield f"{habit.id}: {visible(' '.join(habit.purpose.split())) or 'no purpose was given'}"
    yield f"  {'seen':13} {habit.occurrences} times, from {local_time(habit.first_at)} to {local_time(habit.last_at)}"
    yield f"  {'tier':13} {visible(habit.tier)}"
    yield f"  {'hosts':13} {visible(', '.join(habit.hosts)) or 'none'}"
    yield f"  {'tools':13} {visible(', '.join(habit.tools)) or 'none'}"
    for one in habit.parameters:
        values = ", ".join(json.dumps(value, ensure_ascii=False) for value in one.values)
        yield f"  {'parameter':13} {visible(one.place)}: {visible(values)}"
    if habit.neuron:
        yield f"  {'neuron':13} {habit.neuron}"
    yield f"  {'code':13} as it was written last"
    yield from code_lines(habit.code)
