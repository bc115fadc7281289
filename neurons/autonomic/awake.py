"""The awake neurons, and which of them listen to which type of signal. Nothing here waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..pipeline import Failed
from .autonomic_store import Look, Unwritten, Written
from .autonomic_view import NerveState, NerveView
from .energy_account import floors
from .nerve import Nerve, identity
from .signal_queue import Drop

if TYPE_CHECKING:
    import anyio.abc

    from ..contracts import Neuron
    from .surroundings import Surroundings


class Awake:
    """The awake neurons: starts and ends their nerves, and collects what they have to write."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._nerves: dict[str, Nerve] = {}
        self._by_type: dict[str, tuple[Nerve, ...]] = {}
        self._leaving = 0
        """Emissions that are being written."""
        self._left: list[Unwritten] = []
        """What nerves that have ended did, and is not written yet."""

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(self._nerves)

    @property
    def has_work(self) -> bool:
        return self._leaving > 0 or any(nerve.has_work for nerve in self._nerves.values())

    @property
    def is_busy(self) -> bool:
        """A neuron has a signal in hand."""
        return any(nerve.is_at_work for nerve in self._nerves.values())

    @property
    def neurons(self) -> list[Neuron]:
        return [nerve.neuron for nerve in self._nerves.values()]

    def only(self, neuron_id: str) -> tuple[Nerve, ...]:
        nerve = self._nerves.get(neuron_id)
        return () if nerve is None else (nerve,)

    def listening(self, type_: str) -> tuple[Nerve, ...]:
        return self._by_type.get(type_, ())

    def adopt(self, neurons: Sequence[Neuron], tasks: anyio.abc.TaskGroup) -> None:
        """Run exactly these neurons: start the missing ones, end the others."""
        wanted = {neuron.id: neuron for neuron in neurons}
        for nerve in list(self._nerves.values()):
            neuron = wanted.get(nerve.neuron.id)
            if neuron is not None and identity(neuron) == nerve.identity:
                nerve.adopt(neuron)
            else:
                self._end(nerve, Drop.ASLEEP)
        for neuron_id, neuron in wanted.items():
            if neuron_id not in self._nerves:
                nerve = self._nerves[neuron_id] = Nerve(neuron, self._around)
                self._around.queue.open(neuron_id)
                tasks.start_soon(nerve.run)
        self.route()

    def end(self, neuron_id: str | None = None) -> None:
        """Kill the process of one neuron, or of all, now."""
        for nerve in list(self._nerves.values()):
            if neuron_id in {None, nerve.neuron.id}:
                self._end(nerve, Drop.KILLED)
        self.route()

    def silence(self, nerve: Nerve) -> None:
        """Kill a neuron that has failed, now, even before its document says so. It is not started again until that is
        written."""
        nerve.scope.cancel()
        self._around.queue.close(nerve.neuron.id, Drop.ASLEEP)
        self.route()

    def count_awake(self) -> None:
        """Count the time that has passed for neurons on trial."""
        for nerve in self._nerves.values():
            nerve.count_awake(self._around.now())

    def judge(self) -> None:
        for nerve in list(self._nerves.values()):
            nerve.judge(self._around.now())

    def take_unwritten(self, *, all_of_it: bool) -> list[Unwritten]:
        """What is to be written: everything, or only what is urgent. Report the result with `wrote`."""
        left, self._left = self._left, []
        nerves = self._nerves.values()
        taken = left + [nerve.taken() for nerve in nerves if nerve.is_urgent or (all_of_it and nerve.unwritten)]
        self._leaving = sum(len(one.held) for one in taken)
        return taken

    def wrote(self, unwritten: Sequence[Unwritten], look: Look) -> None:
        self._leaving = 0
        for one in unwritten:
            self._wrote(one, look.written.get(one.neuron.id))
        self.route()

    def _wrote(self, one: Unwritten, done: Written | None) -> None:
        nerve = self._nerves.get(one.neuron.id)
        if nerve is None or nerve.identity != identity(one.neuron):
            if done is None:
                self._left.append(one)
        elif done is None:
            nerve.put_back(one)
        elif not done.neuron.is_awake or identity(done.neuron) != nerve.identity:
            self._end(nerve, Drop.ASLEEP)
        else:
            nerve.adopt(done.neuron)
            nerve.is_urgent |= one.has_verdict and not done.has_verdict

    def _end(self, nerve: Nerve, why: Drop) -> None:
        nerve.count_awake(self._around.now(), all_of_it=True)
        nerve.scope.cancel()
        self._around.queue.close(nerve.neuron.id, why)
        if nerve.unwritten:
            self._left.append(nerve.taken())
        self._nerves.pop(nerve.neuron.id, None)

    def route(self) -> None:
        """Work out again which nerve listens to what, and at which level each rests: both change with the set of awake
        neurons and with their status."""
        nerves = [nerve for nerve in self._nerves.values() if nerve.neuron.id in self._around.queue]
        types = {type_ for nerve in nerves for type_ in nerve.neuron.input_signals}
        self._by_type = {
            type_: tuple(nerve for nerve in nerves if type_ in nerve.neuron.input_signals) for type_ in types
        }
        lowest = floors([nerve.neuron for nerve in nerves], self._around.settings.autonomic.rest_below)
        for nerve in nerves:
            nerve.floor = lowest[nerve.neuron.id]
            nerve.nudge()
        self._around.rested()

    def views(self) -> tuple[NerveView, ...]:
        return tuple(
            NerveView(nerve.neuron, *self._state(nerve), self._around.queue.waiting(nerve.neuron.id), nerve.floor)
            for nerve in self._nerves.values()
        )

    def _state(self, nerve: Nerve) -> tuple[NerveState, str]:
        if isinstance(nerve.verdict, Failed):
            return NerveState.STOPPED, nerve.verdict.reason
        if nerve.trouble:
            return NerveState.TROUBLE, nerve.trouble
        if not nerve.is_open:
            return NerveState.STARTING, ""
        return (NerveState.RESTING, self._why_rests(nerve)) if nerve.is_resting else (NerveState.AWAKE, "")

    def _why_rests(self, nerve: Nerve) -> str:
        account = self._around.account
        if account.level is None:
            return account.trouble or "the level of energy is not known yet"
        if nerve.owed:
            return f"it owes {nerve.owed:.4g} energy"
        lowest = max(nerve.floor, nerve.neuron.energy_budget)
        return f"energy is at {account.level:.2f}, and it rests below {lowest:.2f}"
