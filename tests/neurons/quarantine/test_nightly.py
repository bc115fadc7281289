"""What is awake is compared with new recordings once a day, and is stopped when it no longer does the same."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import anyio
import pytest

from neurons import (
    Candidates,
    Difference,
    Equality,
    Habits,
    LiteralReader,
    Neuron,
    Nightly,
    Recording,
    Recordings,
    Status,
    Workplace,
)
from neurons.habits.fingerprint import fingerprint
from neurons.quarantine import nightly as module, workplace as comparing
from neurons.quarantine.equality_report import schemas_of
from sandbox import DenoRuntime, SandboxUnavailable
from sandbox.testing import FunctionTools
from tests.conftest import small
from tests.neurons.governance import MAX_CODE_BYTES, Governed, proposal, report_of, shown

SCRIPT = """const open = context.orders.filter((o) => o.open);
return { total: open.reduce((sum, o) => sum + o.price, 0) };"""
RIGHT = """const orders = Array.isArray(signal.data?.orders) ? signal.data.orders : [];
let total = 0;
for (const o of orders) if (o?.open) total += o.price;
emit("open_total", { total });"""
WRONG = RIGHT.replace("if (o?.open) total += o.price", "total += o?.price ?? 0")
ORDERS = [{"price": 3, "open": True}, {"price": 5, "open": True}]
FOUND = Difference(input="recorded run 1", script="1", candidate="2")


class Lease:
    def __init__(self) -> None:
        self.is_free = True

    def try_take(self) -> bool:
        return self.is_free

    def release(self) -> None: ...

    def close(self) -> None: ...


class Home:
    """A home with one habit, its recordings, and what a comparison would find."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch | None = None, **settings: Any) -> None:
        self.governed = Governed(**settings)
        self.clock = self.governed.clock
        self.habits = Habits(self.governed.storage, self.governed.settings.habits, read=self._read, now=self.clock)
        self.recordings = Recordings(self.governed.storage, self.governed.settings.habits, now=self.clock)
        self.lease = Lease()
        self.tools = FunctionTools({})
        self.killed: set[str | None] = set()
        self.finds: Equality = Equality(compared=1, equal=1)
        self.compared: list[list[Recording]] = []
        if monkeypatch is not None:
            monkeypatch.setattr(comparing, "compare", self._compare)

    async def _read(self, code: str):
        return fingerprint(code)

    async def _compare(self, neuron: Neuron, *_: Any, recordings: list[Recording], **__: Any) -> Equality:
        self.compared.append(recordings)
        return self.finds

    async def habit(self) -> str:
        for _ in range(3):
            await self.ran()
        [habit] = self.habits.all()
        return habit.id

    async def ran(self, orders: Any = ORDERS) -> None:
        """The agent runs the script by hand."""
        self.clock.forward(seconds=5)
        self.recordings.keep(Recording("c" * 64, self.clock(), {"orders": orders}, code=SCRIPT))
        await self.habits.noticed(SCRIPT, code_hash="c" * 64)

    def nightly(self, hosts: Any = None, literals: Any = None) -> Nightly:
        return Nightly(
            self.workplace(
                hosts,
                literals=literals or object(),
                tools=lambda _: self.tools,
                is_killed=lambda neuron: neuron in self.killed,
            ),
            storage=self.governed.storage,
            lock=self.lease,
        )

    def workplace(self, hosts: Any, **others: Any) -> Workplace:
        return Workplace(
            pipeline=self.governed,
            hosts=hosts,
            settings=self.governed.settings,
            habits=self.habits,
            recordings=self.recordings,
            now=self.clock,
            **others,
        )

    async def in_trial(self, equality: Equality | None = None, **changes: Any) -> Neuron:
        neuron = self.governed.in_quarantine(**changes)
        made = neuron.model_copy(update={"metadata": neuron.metadata.model_copy(update={"habit": await self.habit()})})
        self.governed.store.change(neuron.id, lambda _: self.governed._settled(made))
        report = report_of(made, at=self.clock()).model_copy(
            update={
                "equality": equality or Equality(runs=1, compared=1, equal=1),
                "tool_schemas": schemas_of(self.tools, made.tools),
            }
        )
        return self.governed.approve(neuron.id, shown(self.governed.judged(neuron.id, report)))

    async def next_day(self, nightly: Nightly) -> list[Neuron]:
        self.clock.forward(hours=25)
        return await nightly.compare_if_due()

    def status(self, neuron: Neuron) -> Neuron:
        return self.governed.store.get(neuron.id)


async def test_a_difference_on_new_recordings_disables_with_the_reason(monkeypatch):
    home = Home(monkeypatch)
    neuron = await home.in_trial()
    nightly = home.nightly()
    assert await nightly.compare_if_due() == []  # the first look starts the clock
    assert await home.next_day(nightly) == []
    assert home.compared == []  # nothing was recorded since it was tried
    await home.ran()
    assert await home.next_day(nightly) == []
    assert [len(each) for each in home.compared] == [1]
    assert home.status(neuron).status is Status.TRIAL
    await home.ran()
    home.finds = Equality(compared=1, first_difference=FOUND)
    [stopped] = await home.next_day(nightly)
    assert stopped.status is Status.DISABLED
    assert "on recorded run 1: the script gave 1, and it gave 2" in stopped.reason
    assert (stopped.history[-1].by, stopped.history[-1].event) == ("cortex", "disable")
    assert [len(each) for each in home.compared] == [1, 1]


async def test_a_changed_schema_of_a_tool_disables_and_a_tool_that_is_away_does_not(monkeypatch):
    async def stock(_: object) -> None: ...

    home = Home(monkeypatch)
    home.tools = FunctionTools({"shop.stock": stock})
    neuron = await home.in_trial(tools=["shop.stock"])
    nightly = home.nightly()
    await nightly.compare_if_due()
    home.tools = FunctionTools({})
    assert await home.next_day(nightly) == []
    home.tools = FunctionTools({"shop.stock": stock}, {"shop.stock": {"type": "object"}})
    [stopped] = await home.next_day(nightly)
    assert stopped.id == neuron.id
    assert stopped.reason == 'the tool "shop.stock" takes or gives something else than when this was tried'


async def test_what_the_owner_approved_in_spite_of_a_difference_is_not_compared(monkeypatch):
    home = Home(monkeypatch)
    await home.in_trial(Equality(compared=1, first_difference=FOUND, is_named=False))
    nightly = home.nightly()
    await nightly.compare_if_due()
    await home.ran()
    assert await home.next_day(nightly) == []
    assert home.compared == []


async def test_a_comparison_that_breaks_leaves_the_others_to_be_compared(monkeypatch):
    home = Home(monkeypatch)
    first = await home.in_trial()
    second = await home.in_trial(name="SecondOne", code="emit('price_change', { other: true })")
    nightly = home.nightly()
    await nightly.compare_if_due()
    await home.ran()

    async def compare(neuron: Neuron, *_: Any, **__: Any) -> Equality:
        if neuron.id == first.id:
            raise OverflowError("int too large to convert to float")
        return Equality(compared=1, first_difference=FOUND)

    monkeypatch.setattr(comparing, "compare", compare)
    assert [one.id for one in await home.next_day(nightly)] == [second.id]
    assert home.status(first).status is Status.TRIAL


@pytest.mark.parametrize("error", [OverflowError("int too large"), SandboxUnavailable("no process")])
async def test_a_comparison_that_fails_is_tried_again_an_hour_later_and_not_each_minute(error, monkeypatch):
    home, tried = Home(monkeypatch), []
    await home.in_trial()
    nightly = home.nightly()
    await nightly.compare_if_due()
    await home.ran()

    async def compare(*_: Any, **__: Any) -> Equality:
        tried.append(home.clock())
        raise error

    monkeypatch.setattr(comparing, "compare", compare)
    home.clock.forward(hours=25)
    for _ in range(3 * 60):
        with suppress(SandboxUnavailable):
            await nightly.compare_if_due()
        home.clock.forward(seconds=60)
    assert len(tried) == 3


async def test_it_is_done_once_in_so_many_hours_also_after_a_restart(monkeypatch):
    home = Home(monkeypatch, nightly={"every_hours": 10})
    await home.in_trial()
    await home.nightly().compare_if_due()
    for hours, times in ((9, 0), (2, 1), (9, 1), (2, 2)):
        await home.ran()
        home.clock.forward(hours=hours)
        await home.nightly().compare_if_due()
        assert len(home.compared) == times
    assert [len(each) for each in home.compared] == [2, 2]


async def test_one_process_of_a_home_compares_and_none_when_the_kill_switch_is_on(monkeypatch):
    home = Home(monkeypatch)
    neuron = await home.in_trial()
    nightly = home.nightly()
    await nightly.compare_if_due()
    await home.ran()
    home.lease.is_free = False
    await home.next_day(nightly)
    home.lease.is_free = True
    for killed in (None, neuron.id):
        home.killed = {killed}
        await nightly.compare_if_due()
    assert home.compared == []


async def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setattr(module, "LOOK_S", 0.001)
    home = Home(monkeypatch, nightly={"enabled": False})
    with anyio.fail_after(30):
        await home.nightly().run()
    home = Home(monkeypatch)
    with anyio.move_on_after(0.2):
        await home.nightly().run()
    assert home.governed.storage.read(module.KEY) is not None
    assert Home(monkeypatch, nightly={"enabled": False}).governed.storage.read(module.KEY) is None


@pytest.mark.deno
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_from_the_habit_to_the_owner(anyio_backend):
    """A neuron that differs from the script of the habit that the agent named is rejected; one that is equal waits for
    the owner with the line; one whose habit was guessed does so, too, with a finding."""
    home = Home()
    habit = await home.habit()
    async with DenoRuntime(small(pool_size=2)) as runtime, LiteralReader() as literals:
        candidates = Candidates(home.workplace(runtime, literals=literals), lock=Lease())

        async def tried(name: str, code: str, *, is_named: bool) -> Neuron:
            home.governed.propose(
                proposal(name=name, code=code, inputSignals=["orders"], outputSignals=["open_total"]),
                habit=habit,
                is_habit_named=is_named,
                max_code_bytes=MAX_CODE_BYTES,
            )
            [judged] = await candidates.try_all()
            return judged

        wrong = await tried("Sum open", WRONG, is_named=True)
        assert wrong.status is Status.DISABLED
        assert "differs from the recorded scripts on recorded run" in wrong.reason
        right = await tried("Total open", RIGHT, is_named=True)
        assert right.status is Status.AWAITING_OWNER, right.reason
        assert right.report.equality.line.startswith("equal on ")
        assert not right.report.equality.is_different
        guess = await tried(
            "Total all",
            WRONG.replace("total", "sum").replace("{ sum }", "{ total: sum }").replace("open_sum", "open_total"),
            is_named=False,
        )
        assert guess.status is Status.AWAITING_OWNER
        assert any("may be its habit" in finding for finding in guess.report.findings)
