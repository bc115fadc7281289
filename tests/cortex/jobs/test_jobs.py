"""Jobs: runs that go on after their turn."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio
import pytest

from cortex import ScriptedModel, Toolbox, run_turn
from cortex.jobs import job_records
from cortex.jobs.job_records import (
    CUT_SHORT,
    MAX_AGE_S,
    MAX_KEPT,
    MAX_REPLY_BYTES,
    JobRecord,
    JobRecords,
    conversation_hash,
    displays_of,
    new_handle,
)
from cortex.jobs.jobs import JOB_ENDED, MAX_SIGNAL_REPLY_BYTES, MAX_UNDER_WAY
from cortex.loop import Conversation
from cortex.settings import ExecuteSettings
from cortex.settings.sections import LoopSettings
from cortex.tools import core_definitions
from neurons import Signal
from sandbox import Displayed, ErrorType, ExecutionError, ExecutionOutcome
from tests.cortex.jobs.support import LATER, Patient, begin, cortex, look, until_ended
from tests.sandbox.contracts.test_displays import png

NO_SUCH_JOB = "EXECUTION_DENIED: There is no such job in this conversation"
CHEAP = {"recharge_per_minute": 0, "cost_isolated": 0.001, "floor_isolated": 0}


def kinds(place) -> list[str]:
    return [record.kind for record in place.audit.records() if record.kind in {"intent", "execution", "refusal"}]


async def test_a_job_goes_on_after_its_turn_and_its_result_comes_from_the_record(tmp_path: Path):
    runtime = Patient()
    async with cortex(tmp_path, runtime) as place:
        async with place.turn() as turn:
            handle = await begin(turn)
        await runtime.until_running()
        early = json.loads(await look(place, handle))
        assert (early["job"], early["state"]) == (handle, "running")
        assert place.energy.level() == pytest.approx(0.95)  # reserved before anything ran
        runtime.gate.set()
        assert await until_ended(place, handle) == "42"
        assert await look(place, handle) == "42"
        assert len(runtime.requests) == 1  # looking runs nothing
        assert place.energy.level() == pytest.approx(0.95)
        assert kinds(place) == ["intent", "execution"]
    async with cortex(tmp_path, Patient()) as again:
        assert await look(again, handle) == "42"  # also after a restart


async def test_a_job_has_the_time_of_its_setting_and_the_sandbox_cuts_it(tmp_path: Path):
    runtime = Patient(opened=True)
    async with cortex(tmp_path, runtime) as place, place.turn() as turn:
        await until_ended(place, await begin(turn))
        await until_ended(place, await begin(turn, timeout=7_000))
    limits = {"later": True, "max_timeout_later_ms": 900_000}
    async with cortex(tmp_path, runtime, execute=limits, sandbox={"max_timeout_ms": 700_000}) as place:
        async with place.turn() as turn:
            await until_ended(place, await begin(turn))
        told = place.openai_tools()[0]["function"]["parameters"]["properties"]["later"]["description"]
        assert told == "As a job, up to 700000 ms; answers with a handle"
    assert [request.timeout_ms for request in runtime.requests] == [600_000, 7_000, 700_000]


async def test_a_job_of_real_code_runs_longer_than_a_run_may(tmp_path: Path):
    limits = {"later": True, "max_timeout_isolated_ms": 200}
    async with cortex(tmp_path, None, execute=limits) as place:
        async with place.turn() as turn:
            handle = await begin(turn, code="await new Promise((go) => setTimeout(go, 900)); return [1, 2].length")
        assert await until_ended(place, handle) == "2"


async def test_without_the_setting_nothing_runs_later_and_the_model_is_not_told_of_it(tmp_path: Path):
    async with cortex(tmp_path, Patient(), execute={"later": False}) as place, place.turn() as turn:
        text = await turn.call("core.execute", LATER)
        assert text == "EXECUTION_DENIED: Nothing runs later here; leave `later` and `job` out"
        assert (await turn.call("core.execute", {"job": new_handle()})).startswith("EXECUTION_DENIED: ")
        assert "later" not in place.openai_tools()[0]["function"]["parameters"]["properties"]
    with_it = core_definitions(ExecuteSettings(later=True))
    assert with_it == core_definitions(ExecuteSettings(later=True))
    assert with_it[0].parameters["required"] == ["purpose"]


async def test_a_job_that_is_refused_has_no_handle_and_costs_nothing(tmp_path: Path):
    energy = {"recharge_per_minute": 0, "initial_level": 0.1}
    async with cortex(tmp_path, Patient(), energy=energy) as place, place.turn() as turn:
        assert (await turn.call("core.execute", LATER)).startswith("EXECUTION_DENIED: Insufficient energy")
        blocked = await turn.call("core.execute", {**LATER, "code": "return eval('1')"})
        assert blocked.startswith("EXECUTION_BLOCKED: ")
        assert place.jobs.list() == []
        assert place.energy.level() == pytest.approx(0.1)


async def test_its_end_is_a_signal_that_starts_one_turn(tmp_path: Path):
    runtime, told, woken = Patient(), [], anyio.Event()

    async def wake(signal: Signal) -> None:
        told.append(signal)
        woken.set()

    async with cortex(tmp_path, runtime, wake=wake) as place:
        async with place.turn() as turn:
            handle = await begin(turn)
        runtime.gate.set()
        with anyio.fail_after(60):
            await woken.wait()
    async with cortex(tmp_path, Patient(), wake=wake):
        await anyio.sleep(0.05)
    [signal] = told
    assert (signal.type, signal.source) == (JOB_ENDED, "cortex")
    assert signal.data == {"job": handle, "purpose": "a long sum", "state": "done", "ok": True, "reply": "42"}


async def test_a_failed_wake_ends_nothing_and_wakes_are_limited_by_the_hour(tmp_path: Path):
    runtime, told = Patient(opened=True), []

    async def wake(signal: Signal) -> None:
        told.append(signal)
        raise RuntimeError("the model is not there")

    neurons = {"habits": {"enabled": False}, "max_wakes_per_hour": 3}
    for _ in range(2):
        async with cortex(tmp_path, runtime, wake=wake, neurons=neurons) as place, place.turn() as turn:
            for _ in range(4):
                await until_ended(place, await begin(turn))
            with anyio.fail_after(60):
                while len(told) < 3:
                    await anyio.sleep(0.01)
    await anyio.sleep(0.05)
    assert len(told) == 3


async def test_a_ten_minute_job_costs_exactly_two_calls_of_the_model(tmp_path: Path):
    """The clock stands in for the ten minutes: nothing here asks the model while the job runs."""
    runtime, signals = Patient(), []
    clock = [1_000_000.0]

    async def wake(signal: Signal) -> None:
        signals.append(signal)

    call = {"name": "core_execute", "arguments": LATER}
    model = ScriptedModel([{"calls": [call]}, {"text": "It is 42."}])
    async with cortex(tmp_path, runtime, wake=wake, now=lambda: clock[0]) as place:
        conversation, settings = Conversation(), LoopSettings()
        async with place.turn(conversation="c") as turn:
            end = await run_turn(model, turn, place.openai_tools(), conversation, "Sum it up", settings)
        assert (end.stopped, end.rounds) == ("answered", 1)
        assert end.text.startswith("(job-")
        clock[0] += 600
        runtime.gate.set()
        with anyio.fail_after(60):
            while not signals:
                await anyio.sleep(0.01)
        async with place.turn(conversation="c") as turn:
            words = f"(A signal: {json.dumps(signals[0].data)})"
            end = await run_turn(model, turn, place.openai_tools(), conversation, words, settings)
        assert (end.text, end.rounds, signals[0].data["reply"]) == ("It is 42.", 1, "42")
        assert len(signals) == 1


async def test_without_a_wake_the_model_goes_on_after_the_handle(tmp_path: Path):
    model = ScriptedModel(
        [{"calls": [{"name": "core_execute", "arguments": LATER}]}, {"expect": "job-", "text": "Begun."}]
    )
    async with cortex(tmp_path, Patient()) as place, place.turn() as turn:
        end = await run_turn(model, turn, place.openai_tools(), Conversation(), "Sum it up", LoopSettings())
        assert end.text == "Begun."


async def test_the_kill_switch_ends_what_runs_and_gives_back_what_waits(tmp_path: Path):
    runtime, told = Patient(), []

    async def wake(signal: Signal) -> None:
        told.append(signal)

    sandbox = {"pool_size": 1, "max_concurrent": 2}
    async with cortex(tmp_path, runtime, sandbox=sandbox, wake=wake) as place:
        async with place.turn() as turn:
            first, second = [await begin(turn) for _ in range(2)]
        await runtime.until_running()
        place.switch.turn_on("a test", by="owner")
        assert "The run was stopped" in await until_ended(place, first)
        assert (await until_ended(place, second)).startswith("EXECUTION_DENIED: Kill switch is on since ")
        assert place.energy.level() == pytest.approx(0.95)  # only the first had begun
        assert len(runtime.requests) == 1
        async with place.turn() as turn:
            assert "Kill switch" in await turn.call("core.execute", LATER)
        assert told == []  # nothing acts while the switch is on


async def test_a_job_is_cancelled_by_its_conversation_and_by_the_owner(tmp_path: Path):
    runtime = Patient()
    sandbox = {"pool_size": 1, "max_concurrent": 2}
    async with cortex(tmp_path, runtime, sandbox=sandbox) as place:
        async with place.turn() as turn:
            running, waiting, third = [await begin(turn) for _ in range(3)]
        await runtime.until_running()
        assert place.energy.level() == pytest.approx(0.85)
        assert await look(place, waiting, cancel=True) == "EXECUTION_DENIED: The job was cancelled"
        assert place.energy.level() == pytest.approx(0.9)  # it had not begun
        text = await look(place, running, cancel=True)
        assert text == "EXECUTION_ERROR: CrashError: The job was cancelled; what it had begun may have happened"
        assert place.energy.level() == pytest.approx(0.9)  # it had
        assert place.jobs.cancel(third)
        assert "The owner cancelled the job" in await until_ended(place, third)
        assert not place.jobs.cancel(new_handle())
        assert sorted(record.state for record in place.jobs.list()) == ["cancelled"] * 3


async def test_a_cancelled_call_leaves_no_job_behind(tmp_path: Path):
    asked = anyio.Event()

    class Owner:
        async def decide(self, question: object) -> None:
            asked.set()
            await anyio.sleep_forever()

    place = cortex(tmp_path, Patient(), owner=Owner(), tools={"policies": {"core.execute": "ask"}})
    async with place, place.turn() as turn, anyio.create_task_group() as tasks:
        tasks.start_soon(turn.call, "core.execute", LATER)
        with anyio.fail_after(60):
            await asked.wait()
        tasks.cancel_scope.cancel()
    assert place.energy.level() == pytest.approx(1.0)


async def test_a_host_that_stops_settles_its_jobs_and_the_next_one_tells_of_them(tmp_path: Path):
    runtime, told = Patient(), []

    async def wake(signal: Signal) -> None:
        told.append(signal)

    sandbox = {"pool_size": 1, "max_concurrent": 2}
    async with cortex(tmp_path, runtime, sandbox=sandbox, wake=wake) as place:
        async with place.turn() as turn:
            running, waiting = [await begin(turn) for _ in range(2)]
        await runtime.until_running()
    assert told == []
    async with cortex(tmp_path, Patient(), wake=wake) as place:
        assert await look(place, running) == CUT_SHORT
        assert await look(place, waiting) == "EXECUTION_DENIED: The host is stopping"
        assert place.energy.level() == pytest.approx(0.95)
        with anyio.fail_after(60):
            while len(told) < 2:
                await anyio.sleep(0.01)
    assert {signal.data["job"] for signal in told} == {running, waiting}


KILLED = """
import os, signal, sys
from pathlib import Path
import anyio
from tests.sandbox.contracts.test_displays import png
from tests.cortex.jobs.support import Patient, begin, cortex
async def main():
    runtime = Patient()
    async with cortex(Path(sys.argv[1]), runtime, sandbox={"pool_size": 1, "max_concurrent": 2}) as place:
        async with place.turn(conversation="c") as turn:
            handles = [await begin(turn) for _ in range(2)]
        await runtime.until_running()
        print(*handles, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
anyio.run(main)
"""


async def test_a_host_that_is_killed_leaves_jobs_that_are_cut_short_and_settled(tmp_path: Path):
    done = await anyio.run_process([sys.executable, "-c", KILLED, str(tmp_path)], check=False, cwd=Path.cwd())
    running, waiting = done.stdout.decode().split()
    async with cortex(tmp_path, Patient()) as place:
        assert await look(place, running, "c") == CUT_SHORT
        assert "nothing ran, and its energy was given back" in await look(place, waiting, "c")
        assert place.energy.level() == pytest.approx(0.95)
    async with cortex(tmp_path, Patient()) as place:
        assert place.energy.level() == pytest.approx(0.95)  # given back once


async def test_a_hundred_jobs_at_once_end_each_with_its_own_result(tmp_path: Path):
    runtime = Patient()
    sandbox = {"pool_size": 1, "max_concurrent": 8}
    async with cortex(tmp_path, runtime, sandbox=sandbox, energy=CHEAP) as place:
        handles: list[str] = []

        async def one(number: int) -> None:
            async with place.turn(conversation=f"c{number}") as turn:
                handles.append(await begin(turn))

        async with anyio.create_task_group() as tasks:
            for number in range(MAX_UNDER_WAY):
                tasks.start_soon(one, number)
        assert len(set(handles)) == MAX_UNDER_WAY
        async with place.turn() as turn:
            text = await turn.call("core.execute", LATER)
            assert text == "EXECUTION_DENIED: 100 jobs are under way; wait until one has ended"
        assert runtime.most_at_once <= 4  # ordinary runs have the other half
        runtime.gate.set()
        with anyio.fail_after(120):
            while any(record.is_under_way for record in place.jobs.list()):
                await anyio.sleep(0.05)
        assert runtime.most_at_once <= 4
        assert {record.reply for record in place.jobs.list()} == {"42"}
        assert place.energy.level() == pytest.approx(1 - 0.001 * MAX_UNDER_WAY)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])  # the same on trio, without Deno, is above
async def test_a_hundred_jobs_of_real_code_end_each_with_its_own_result(tmp_path: Path):
    async with cortex(tmp_path, None, sandbox={"pool_size": 2, "max_concurrent": 4}, energy=CHEAP) as place:
        async with place.turn() as turn:
            handles = [await begin(turn, code=f"return {number} * 2") for number in range(MAX_UNDER_WAY)]
            assert json.loads(await turn.call("core.execute", {"purpose": "now", "code": "return 1"})) == 1
        assert [await until_ended(place, handle) for handle in handles] == [str(2 * n) for n in range(MAX_UNDER_WAY)]


async def test_a_job_whose_end_cannot_be_written_down_is_not_said_to_run_for_ever(tmp_path: Path):
    runtime = Patient()
    async with cortex(tmp_path, runtime) as place, place.turn() as turn:
        handle = await begin(turn)
        await runtime.until_running()

        def full(_: JobRecord) -> None:
            raise OSError(28, "No space left on device")

        place.jobs._records.write = full
        runtime.gate.set()
        assert await until_ended(place, handle) == CUT_SHORT


async def test_only_one_process_of_a_home_runs_its_jobs(tmp_path: Path):
    async with cortex(tmp_path, Patient()) as place, place.turn() as turn:
        handle = await begin(turn)
        async with cortex(tmp_path, Patient()) as other, other.turn() as turn_there:
            text = await turn_there.call("core.execute", LATER)
            assert text == "EXECUTION_DENIED: Another process runs the jobs of this home: leave `later` out"
            assert json.loads(await look(other, handle))["job"] == handle  # it may look


# Attacks


@pytest.mark.parametrize(
    "forged",
    [
        "job-" + "0" * 32,
        "job-" + "A" * 32,
        "job-../../state/energy",
        "../neurons/x",
        "",
        " ",
        "job-" + "0" * 32 + "\n",
        "x" * 100_000,
        "job-\u0660" + "0" * 31,
    ],
)
async def test_a_forged_handle_is_told_nothing(forged: str, tmp_path: Path):
    async with cortex(tmp_path, Patient()) as place, place.turn() as turn:
        await begin(turn)
        text = await turn.call("core.execute", {"job": forged})
        assert text == NO_SUCH_JOB or text.startswith('EXECUTION_DENIED: core.execute needs "code"')


async def test_a_handle_of_another_conversation_is_told_what_a_forged_one_is_told(tmp_path: Path):
    runtime = Patient()
    async with cortex(tmp_path, runtime) as place:
        async with place.turn(conversation="mine") as turn:
            handle = await begin(turn)
        for other in ("theirs", "mine ", conversation_hash("mine"), None):
            assert await look(place, handle, other) == NO_SUCH_JOB
            assert await look(place, handle, other, cancel=True) == NO_SUCH_JOB
        assert json.loads(await look(place, handle, "mine"))["job"] == handle  # still under way
        runtime.gate.set()
        assert await until_ended(place, handle, "mine") == "42"
        assert await look(place, handle, "theirs") == NO_SUCH_JOB


async def test_a_flood_of_results_is_bounded_in_the_record_and_in_the_signal(tmp_path: Path):
    runtime, told = Patient(opened=True), []

    async def wake(signal: Signal) -> None:
        told.append(signal)

    runtime.outcome = ExecutionOutcome(ok=False, error=ExecutionError(ErrorType.RUNTIME, "é" * 1_000_000))
    async with cortex(tmp_path, runtime, wake=wake) as place, place.turn() as turn:
        text = await until_ended(place, await begin(turn))
        assert len(text.encode()) <= MAX_REPLY_BYTES
        with anyio.fail_after(60):
            while not told:
                await anyio.sleep(0.01)
    assert len(told[0].data["reply"].encode()) <= MAX_SIGNAL_REPLY_BYTES


async def test_a_secret_in_the_result_of_a_job_is_redacted_in_record_and_signal(tmp_path: Path):
    runtime, told = Patient(opened=True), []

    async def wake(signal: Signal) -> None:
        told.append(signal)

    runtime.outcome = ExecutionOutcome(ok=True, result="write to ada@corp.example")
    async with cortex(tmp_path, runtime, wake=wake) as place, place.turn() as turn:
        assert await until_ended(place, await begin(turn)) == '"write to [EMAIL_1]"'
        with anyio.fail_after(60):
            while not told:
                await anyio.sleep(0.01)
        assert "ada@" not in json.dumps(told[0].data)
        assert "ada@" not in "".join(path.read_text() for path in (tmp_path / "state" / "jobs").glob("*.json"))


class Documents(dict):
    """Just enough of a storage."""

    def read_all(self, prefix):
        from neurons import Document

        return [Document(key, 1, data) for key, data in sorted(self.items()) if key.startswith(prefix)]

    def read(self, key):
        return next(iter(self.read_all(key)), None)

    def write_through(self, key, data):
        self[key] = data

    def delete(self, key):
        del self[key]


def test_old_records_and_too_many_make_way_and_jobs_under_way_stay():
    now, records = 1e9, Documents()
    kept = JobRecords(records, lambda: now)
    for number in range(MAX_KEPT + 50):
        kept.write(JobRecord(new_handle(), "", "", "isolated", 0.05, "", now + number * 0.001).ended("done", "1", now))
    kept.write(JobRecord(new_handle(), "", "", "isolated", 0.05, "", now - MAX_AGE_S - 1).ended("done", "old", now))
    kept.write(JobRecord(new_handle(), "", "", "isolated", 0.05, "", 0.0))
    records["jobs/strange"] = {"handle": 1}
    kept.forget_old()
    left = kept.all()
    assert len(left) == MAX_KEPT + 1
    assert all(record.reply != "old" for record in left)
    assert left[0].is_under_way


async def test_a_tool_of_the_host_answers_a_job_after_its_turn_has_ended(tmp_path: Path):
    toolbox, go = Toolbox(), anyio.Event()

    @toolbox.tool
    async def stock() -> int:
        """How many there are."""
        await go.wait()
        return 7

    watched: list[object] = []
    async with cortex(tmp_path, None, toolbox=toolbox) as place:
        async with place.turn(watched.append) as turn:
            handle = await begin(turn, code="return await tools.stock({})")
        seen = len(watched)
        go.set()
        assert await until_ended(place, handle) == "7"
        assert len(watched) == seen  # the watcher of a turn hears nothing after it
        assert "tool_call" in [record.kind for record in place.audit.records()]


def picture(size: int = 0, title: str = "") -> Displayed:
    return Displayed("image", "image/png", png() + bytes(size), title)


async def test_what_a_job_displayed_is_shown_to_who_looks_at_it_also_after_a_restart(tmp_path: Path):
    shown = (
        picture(title="A"),
        Displayed("table", "application/json", b'[{"a":1}]'),
        Displayed("blob", "a/b", b"\xff"),
    )
    runtime = Patient(opened=True)
    runtime.outcome = ExecutionOutcome(ok=True, result=42, displayed=shown)
    async with cortex(tmp_path, runtime) as place:
        async with place.turn(conversation="mine") as turn:
            handle = await begin(turn)
            assert turn.displayed == []
        told = await until_ended(place, handle, "mine")
        assert told.startswith('42\n[displayed "A": image/png, 3 × 2 pixels]\n[displayed: a table]')
    async with cortex(tmp_path, runtime) as again:
        async with again.turn(conversation="mine") as turn:
            answer = await turn.answer("core.execute", {"job": handle})
            assert answer.displayed == shown
            assert turn.displayed == list(shown)
        async with again.turn(conversation="mine") as turn:
            assert await turn.show_job(handle) == shown
            assert turn.displayed == list(shown)
        async with again.turn(conversation="another") as turn:
            assert await turn.show_job(handle) == ()
            assert (await turn.answer("core.execute", {"job": handle})).displayed == ()
            assert await turn.show_job("../../etc/passwd") == ()


async def test_what_a_failed_job_displayed_is_there(tmp_path: Path):
    runtime = Patient(opened=True)
    error = ExecutionError(ErrorType.RUNTIME, "no")
    runtime.outcome = ExecutionOutcome(ok=False, error=error, displayed=(picture(),))
    async with cortex(tmp_path, runtime) as place, place.turn() as turn:
        handle = await begin(turn)
        await until_ended(place, handle)
        assert await turn.show_job(handle) == (picture(),)


def test_what_is_kept_of_displays_is_bounded_for_each_job_and_for_all(monkeypatch):
    monkeypatch.setattr(job_records, "MAX_DISPLAYED_BYTES", 1_000)
    monkeypatch.setattr(job_records, "MAX_ALL_DISPLAYED_BYTES", 2_500)
    clock = [1_000.0]
    documents = Documents()
    records = JobRecords(documents, lambda: clock[0])
    kept = []
    for number in range(5):
        record = JobRecord(new_handle(), "", "p", "isolated", 0.1, "", clock[0] + number, state="done", reply="1")
        shown = (Displayed("blob", "a/b", bytes(900)), Displayed("blob", "a/b", bytes(900), "large"))
        record = records.keep_displays(record, shown)
        assert record.displayed_bytes <= 1_000 + 100
        records.write(record)
        kept.append(record)
    records.forget_old()
    found = [records.displays(record) for record in kept]
    assert [len(displayed) for displayed in found] == [0, 0, 0, 2, 2]
    small, large = found[-1]
    assert len(small.data) == 900
    assert (large.type, large.title) == ("note", "large")
    assert large.text == "900 bytes (a/b) are more than is kept of what a job displays"
    clock[0] += 2 * MAX_AGE_S
    records.forget_old()
    assert documents.read_all("jobdisplays/") == []


def test_a_document_of_displays_that_is_damaged_shows_nothing():
    item = {"type": "image", "mimeType": "image/png", "title": "", "data": "AQI="}
    assert len(displays_of({"displayed": [item]})) == 1
    damaged = ({}, {"displayed": 5}, {"displayed": [5]}, {"displayed": [{**item, "data": "!"}]}, {"displayed": [{}]})
    assert [displays_of(data) for data in damaged] == [()] * 5
    assert displays_of({"displayed": [{**item, "type": "svg"}]}) == ()
