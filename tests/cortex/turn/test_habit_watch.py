"""What is looked at after a run, and what counts as a clean one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from cortex.contracts.intents import RunCode, RunCodeIntent
from cortex.learning.habit_notes import HabitNotes
from cortex.runs import ObservedRun
from cortex.settings.sections import EnergySettings
from cortex.tools import Toolbox
from cortex.turn.habit_watch import HabitWatch
from cortex.turn.notes import Notes
from neurons import FingerprintReader, Habits, HabitSettings, MemoryStorage, Offers, Recording, Recordings
from sandbox import DenoRuntime, ErrorType, Exchange, ExecutionError, ExecutionOutcome, Metrics, ToolError
from sandbox.testing import ScriptedRuntime
from tests.conftest import small
from tests.cortex.learning.support import learning_cortex
from tests.sandbox.network.servers import Server

RUN = {"purpose": "look", "code": "return 1"}
GOOD = ExecutionOutcome(ok=True, result=1)
BAD = ExecutionOutcome(ok=False, error=ExecutionError(ErrorType.RUNTIME, "no"))


@dataclass
class Noticing:
    """Habits that notice what the test says, and keep what they were given."""

    habits: list[Any] = field(default_factory=list)
    seen: list[dict[str, Any]] = field(default_factory=list)
    gate: anyio.Event | None = None
    """While it is not set, nobody gets on."""

    async def noticed(self, code: str, **facts: Any) -> Any:
        if self.gate is not None:
            await self.gate.wait()
        self.seen.append({"code": code, **facts})
        found = self.habits.pop(0) if self.habits else None
        if isinstance(found, Exception):
            raise found
        return found


class Keeping:
    def __init__(self) -> None:
        self.kept: list[Recording] = []

    def keep(self, recording: Recording) -> None:
        self.kept.append(recording)


class Watching:
    """A cortex with a watch that runs. Leaving it waits until everything was looked at."""

    def __init__(self, home, noticing, keeping=None, runtime=None, settings=None, watch=None, **more):
        self.noticing = noticing
        self.habits = 0
        kept = settings or HabitSettings()
        self.watch = watch or HabitWatch(noticing, keeping, kept, now=lambda: 5.0, on_habit=self.on_habit)
        self._made = learning_cortex(home, runtime=runtime, observer=self.watch, **more)

    async def __aenter__(self):
        self._tasks = await anyio.create_task_group().__aenter__()
        self._tasks.start_soon(self.watch.run)
        self.cortex = await self._made.__aenter__()
        return self

    async def __aexit__(self, *exc):
        self._tasks.cancel_scope.cancel()
        await self._made.__aexit__(*exc)
        await self._tasks.__aexit__(None, None, None)

    def on_habit(self) -> None:
        self.habits += 1

    async def run(self, arguments=RUN):
        async with self.cortex.turn() as turn:
            return await turn.answer("core.execute", arguments)

    async def also(self, task) -> None:
        await self._tasks.start(task)

    async def looked(self, runs: int) -> None:
        with anyio.fail_after(60):
            while len(self.noticing.seen) < runs:
                await anyio.sleep(0.01)


async def test_a_run_is_looked_at_with_what_it_used(tmp_path):
    noticing = Noticing()
    async with Watching(tmp_path, noticing, runtime=ScriptedRuntime([GOOD])) as watching:
        assert (await watching.run()).text == "1"
    [seen] = noticing.seen
    assert (seen["code"], seen["purpose"], seen["tier"], seen["clean"]) == ("return 1", "look", "isolated", True)
    assert (seen["tools"], seen["hosts"]) == ((), ())
    assert len(seen["code_hash"]) == 64


async def test_a_run_that_failed_is_not_looked_at(tmp_path):
    noticing = Noticing()
    async with Watching(tmp_path, noticing, runtime=ScriptedRuntime([BAD, GOOD])) as watching:
        await watching.run()
        await watching.run()
    assert len(noticing.seen) == 1


async def test_the_watch_says_that_a_script_has_become_a_habit(tmp_path):
    async with Watching(tmp_path, Noticing([None, "a habit"]), runtime=ScriptedRuntime([GOOD] * 3)) as watching:
        for number, habits in enumerate((0, 1, 1), 1):
            await watching.run()
            await watching.looked(number)
            assert watching.habits == habits


async def test_a_turn_does_not_wait_for_the_habit_watch_and_runs_beyond_its_queue_are_dropped_and_counted(tmp_path):
    noticing = Noticing(gate=anyio.Event())
    watch = HabitWatch(noticing, None, HabitSettings(), max_queued=2)
    runtime = ScriptedRuntime([GOOD] * 5)
    energy = EnergySettings(recharge_per_minute=0, cost_isolated=0)
    async with Watching(tmp_path, noticing, runtime=runtime, watch=watch, energy=energy) as watching:
        for _ in range(5):
            assert (await watching.run()).text == "1"
            await anyio.wait_all_tasks_blocked()
        # One is being looked at, two wait.
        assert watch.dropped == 2
        noticing.gate.set()
    assert len(noticing.seen) == 3


async def test_a_fault_in_the_habit_watch_reaches_no_turn_and_ends_nothing(tmp_path):
    noticing = Noticing([ZeroDivisionError(), "a habit"])
    async with Watching(tmp_path, noticing, runtime=ScriptedRuntime([GOOD, GOOD])) as watching:
        assert (await watching.run()).text == "1"
        assert (await watching.run()).text == "1"
        await watching.looked(2)
        assert watching.habits == 1


async def test_what_was_run_last_is_looked_at_before_the_cortex_closes():
    noticing = Noticing(gate=anyio.Event())
    watch = HabitWatch(noticing, None, HabitSettings())
    intent = RunCodeIntent(payload=RunCode(purpose="", code="return 1", tier="isolated", timeout=100))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run)
        for _ in range(2):
            watch.ended(ObservedRun(intent, "hash", watch.max_bytes), GOOD)
        await anyio.wait_all_tasks_blocked()
        # One is being looked at, the other waits.
        tasks.cancel_scope.cancel()
        noticing.gate.set()
    assert len(noticing.seen) == 2
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch.run)
        await anyio.wait_all_tasks_blocked()
        # It has had no time to notice that there is something.
        watch.ended(ObservedRun(intent, "hash", watch.max_bytes), GOOD)
        tasks.cancel_scope.cancel()
    assert len(noticing.seen) == 3


async def test_a_turn_without_a_habit_watch_answers_the_same(tmp_path):
    async with learning_cortex(tmp_path, runtime=ScriptedRuntime([GOOD])) as cortex, cortex.turn() as turn:
        assert (await turn.answer("core.execute", RUN)).text == "1"


@pytest.mark.parametrize(
    ("outcome", "arguments", "clean"),
    [
        (GOOD, RUN, True),
        (ExecutionOutcome(ok=True, metrics=Metrics(failed_calls=1)), RUN, False),
        (GOOD, {**RUN, "code": "try { await fetch('https://a.example') } catch {} return 1"}, False),
        (GOOD, {**RUN, "code": "return prefetch(1)"}, True),
    ],
)
async def test_a_run_in_which_something_failed_is_not_clean(outcome, arguments, clean, tmp_path):
    noticing, keeping = Noticing(), Keeping()
    async with Watching(tmp_path, noticing, keeping, runtime=ScriptedRuntime([outcome])) as watching:
        await watching.run(arguments)
    assert [seen["clean"] for seen in noticing.seen] == [clean]
    assert len(keeping.kept) == clean


class Fetching:
    """A runtime whose code has fetched this, and called these tools."""

    def __init__(self, *exchanges: Exchange, calls: tuple[tuple[str, dict[str, Any]], ...] = ()) -> None:
        self._exchanges = exchanges
        self._calls = calls
        self.networks: list[Any] = []

    async def execute(self, request, tools=None, *, network=None, workspace=None):
        self.networks.append(network)
        for exchange in self._exchanges:
            network.recorder.add(exchange)
        for name, arguments in self._calls:
            with suppress(ToolError):
                await tools.call(name, arguments)
        return GOOD


def answered(status: int = 200, url: str = "https://api.example.com:8443/x", body: bytes = b"{}") -> Exchange:
    return Exchange(method="GET", url=url, status=status, body=body)


NETWORK = {**RUN, "tier": "network"}


@pytest.mark.parametrize(("status", "clean"), [(200, True), (304, True), (404, False), (429, False), (503, False)])
async def test_an_http_error_status_makes_a_run_unclean(status, clean, tmp_path):
    noticing, keeping = Noticing(), Keeping()
    async with Watching(tmp_path, noticing, keeping, runtime=Fetching(answered(), answered(status))) as watching:
        await watching.run(NETWORK)
    assert [(seen["clean"], seen["hosts"]) for seen in noticing.seen] == [(clean, ("api.example.com",))]
    assert [recording.exchanges for recording in keeping.kept] == [(answered(), answered(status))] * clean


async def test_a_run_without_a_network_is_given_none(tmp_path):
    runtime = Fetching()
    async with Watching(tmp_path, Noticing(), runtime=runtime) as watching:
        await watching.run()
        await watching.run(NETWORK)
    assert runtime.networks[0] is None
    assert runtime.networks[1].recorder is not None


async def test_who_records_already_goes_on_doing_so(tmp_path):
    from sandbox import NetworkPolicy, Recorder, SandboxSettings

    theirs, keeping = Recorder(), Keeping()
    sandbox = SandboxSettings(network=NetworkPolicy(recorder=theirs))
    runtime = Fetching(answered())
    async with Watching(tmp_path, Noticing(), keeping, runtime=runtime, sandbox=sandbox) as watching:
        await watching.run(NETWORK)
    assert theirs.exchanges == keeping.kept[0].exchanges == (answered(),)


def toolbox() -> Toolbox:
    tools = Toolbox()

    @tools.tool(name="shop.stock")
    async def stock(item: str) -> int:
        if item == "none":
            raise ToolError("no such item")
        return 7

    return tools


async def test_the_context_that_code_was_given_is_recorded_without_secrets(tmp_path):
    recordings = Recordings(MemoryStorage(), HabitSettings(), now=lambda: 5.0)
    async with (
        Watching(tmp_path, Noticing(), recordings, runtime=ScriptedRuntime([GOOD])) as watching,
        watching.cortex.turn() as turn,
    ):
        given = {"coin": "ether", "password": "correct horse battery"}
        await turn.execute_code({"code": "return 1", "context": given})
    [kept] = recordings.of([code_hash("return 1")], 1)
    assert kept.context["coin"] == "ether"
    assert "horse" not in str(kept.context)


@pytest.mark.parametrize("item", ["chair", "none"])
async def test_tools_are_recorded_with_what_they_were_given_and_gave(item, tmp_path):
    noticing, keeping = Noticing(), Keeping()
    runtime = Fetching(calls=(("shop.stock", {"item": "table"}), ("shop.stock", {"item": item})))
    async with Watching(tmp_path, noticing, keeping, runtime=runtime, toolbox=toolbox()) as watching:
        await watching.run()
    is_clean = item != "none"
    assert [(seen["tools"], seen["clean"]) for seen in noticing.seen] == [(("shop.stock",), is_clean)]
    calls = [call for recording in keeping.kept for call in recording.tool_calls]
    assert [(call.name, call.arguments, call.result) for call in calls] == [
        ("shop.stock", {"item": "table"}, 7),
        ("shop.stock", {"item": "chair"}, 7),
    ] * is_clean


async def test_nothing_is_recorded_where_that_is_switched_off_and_habits_are_noticed_all_the_same(tmp_path):
    noticing, keeping = Noticing(), Keeping()
    runtime = Fetching(answered(body=b"x" * 100), calls=(("shop.stock", {"item": "table"}),))
    settings = HabitSettings(record=False)
    async with Watching(tmp_path, noticing, keeping, runtime, settings, toolbox=toolbox()) as watching:
        await watching.run(NETWORK)
        assert watching.watch.max_bytes == 0
    assert keeping.kept == []
    assert [(seen["clean"], seen["hosts"], seen["tools"]) for seen in noticing.seen] == [
        (True, ("api.example.com",), ("shop.stock",))
    ]
    assert runtime.networks[0].recorder.exchanges[0].body == b""


async def test_what_is_kept_of_one_run_is_bounded_while_it_runs(tmp_path):
    keeping = Keeping()
    runtime = Fetching(answered(body=b"x" * 100), answered(body=b"y" * 100))
    settings = HabitSettings(max_recording_bytes=150)
    async with Watching(tmp_path, Noticing(), keeping, runtime, settings) as watching:
        await watching.run(NETWORK)
    [first, second] = keeping.kept[0].exchanges
    assert (len(first.body), first.truncated) == (100, False)
    assert (len(second.body), second.truncated) == (50, True)


@pytest.mark.deno
@pytest.mark.usefixtures("nothing_left")
async def test_a_script_that_comes_back_is_told_to_the_model_once_and_can_be_replayed(tmp_path):
    """All of it real: the sandbox, the network, the tools, the fingerprints, the habits and the recordings."""
    storage, settings = MemoryStorage(), HabitSettings()

    def code(coin: str) -> str:
        return f"""
            const answer = await fetch(`http://127.0.0.1:{server.port}/price?of={coin}`);
            const price = (await answer.json()).price;
            return price * await tools.shop.stock({{ item: "{coin}" }});
        """

    with Server() as server:
        server.routes["/price"] = lambda talk: talk.reply(b'{"price": 2}', headers={"Content-Type": "application/json"})
        server.routes["/broken"] = lambda talk: talk.reply(b"", "503 Unavailable")
        network = {"allow": [f"http://127.0.0.1:{server.port}"]}
        sandbox = small(network=network)
        async with FingerprintReader() as reader, DenoRuntime(sandbox) as runtime:
            habits = Habits(storage, settings, read=reader.read)
            recordings = Recordings(storage, settings)
            notes = Notes([HabitNotes(habits, Offers(storage, settings))])
            watch = HabitWatch(habits, recordings, settings, on_habit=notes.news)
            energy = EnergySettings(cost_network=0, recharge_per_minute=0)
            more = {"toolbox": toolbox(), "sandbox": sandbox, "energy": energy, "notes": notes}
            async with Watching(tmp_path, Noticing(), None, runtime, watch=watch, **more) as watching:
                await watching.also(notes.run)
                told = []
                for number, coin in enumerate(("bitcoin", "ether", "dogecoin", "bitcoin")):
                    answer = await watching.run({"purpose": f"price of {coin}", "code": code(coin), "tier": "network"})
                    assert answer.text == "14"
                    told.append(answer.note)
                    with anyio.fail_after(60):
                        while len(recordings.of([code_hash(code(coin))], 9)) < (2 if number == 3 else 1):
                            await anyio.sleep(0.02)
                    # Noticed right after it was kept.
                    with anyio.fail_after(60):
                        while number == 2 and not any(looked.due for _, looked in notes._sources):
                            await anyio.sleep(0.02)
                failing = code("bitcoin").replace("/price", "/broken").replace("(await answer.json()).price", "1")
                assert (await watching.run({"code": failing, "tier": "network"})).text == "7"
    assert told[:3] == [None] * 3
    assert "core.consolidate" in told[3]
    [habit] = habits.all()
    assert (habit.tools, habit.hosts) == (("shop.stock",), ("127.0.0.1",))
    assert habit.id in told[3]
    # The run that met a 503 was a success to its author, and is not one to learn from.
    assert habit.occurrences == 4
    assert recordings.of([code_hash(failing)], 9) == []
    [newest, *_] = recordings.of(habit.code_hashes, 1)
    assert newest.exchanges[0].body == b'{"price": 2}'
    assert newest.tool_calls[0].result == 7


def code_hash(code: str) -> str:
    from neurons import code_hash as hashed

    return hashed(code)
