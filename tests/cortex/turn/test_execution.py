"""One execution without a turn: whoever runs code for an agent calls the same function."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from cortex.audit import AuditError
from cortex.contracts import (
    Blocked,
    Denied,
    ExecutionCutShort,
    ExecutionEnded,
    ExecutionStarted,
    RunCode,
    RunCodeIntent,
)
from cortex.settings import EnergySettings
from cortex.tools import AbsentOwner, Calls, Consent
from cortex.turn.execution import Caller, HostFailed, NotRun, Ran, RunCount, execute
from sandbox import ErrorType, ExecutionError, ExecutionOutcome, Finding, Tier
from sandbox.testing import ScriptedRuntime
from tests.cortex.learning.support import Cortex, learning_cortex

DONE = ExecutionOutcome(ok=True, result=2)


def intent(code: str = "return 1 + 1") -> RunCodeIntent:
    return RunCodeIntent(payload=RunCode(purpose="a task", code=code, tier=Tier.ISOLATED, timeout=1000))


def caller(cortex: Cortex, most: int = 10) -> Caller:
    services = cortex.parts
    consent = Consent(AbsentOwner(), services.settings.tools)

    async def show(text: str) -> str:
        return text

    def announce(event: object) -> None:
        services.spine.announce(event, cortex.events.append)

    return Caller("task-1", RunCount(most, "no more runs"), consent, Calls(consent), show, announce)


async def run(cortex: Cortex, by: Caller, code: str = "return 1 + 1"):
    return await execute(intent(code), cortex.parts.workbench.wish(code), cortex.parts, by)


async def test_code_runs_without_a_turn_and_every_step_is_announced(tmp_path: Path):
    async with learning_cortex(tmp_path, runtime=ScriptedRuntime([DONE])) as cortex:
        done = await run(cortex, caller(cortex))
        assert isinstance(done, Ran)
        assert (done.reply, done.cost, round(done.level, 2)) == ("2", 0.05, 0.95)
        assert [type(event) for event in cortex.events] == [ExecutionStarted, ExecutionEnded]
        (started,), (ended,) = cortex.recorded("intent"), cortex.recorded("execution")
        assert started["code_hash"] == ended["code_hash"]


async def test_refusals_are_values_and_cost_nothing(tmp_path: Path):
    async with learning_cortex(tmp_path, runtime=ScriptedRuntime([])) as cortex:
        energy = cortex.parts.energy.level()
        assert (await run(cortex, caller(cortex, most=0))).refusal == Denied("no more runs")
        cortex.parts.switch.turn_on("a test", by="owner")
        killed = await run(cortex, caller(cortex))
        assert isinstance(killed.refusal, Denied)
        assert killed.refusal.reason.startswith("Kill switch is on since ")
        assert cortex.parts.energy.level() == energy
        assert cortex.events == []


class FindsEval:
    """A guard that finds something in all code."""

    async def inspect(self, code: str) -> tuple[Finding, ...]:
        return (Finding("eval", "runs text as code", 1, 1),)


async def test_what_the_guard_finds_is_blocked(tmp_path: Path):
    async with learning_cortex(tmp_path, runtime=ScriptedRuntime([])) as cortex:
        cortex.parts = replace(cortex.parts, guard=FindsEval())
        done = await run(cortex, caller(cortex))
        assert isinstance(done.refusal, Blocked)


async def test_too_little_energy_is_a_refusal_that_gives_the_place_back(tmp_path: Path):
    energy = EnergySettings(recharge_per_minute=0)
    async with learning_cortex(tmp_path, runtime=ScriptedRuntime([DONE]), energy=energy) as cortex:
        by = caller(cortex, most=1)
        cortex.parts.energy.set(0.1)
        assert isinstance(await run(cortex, by), NotRun)
        cortex.parts.energy.set(1.0)
        assert isinstance(await run(cortex, by), Ran)
        assert (await run(cortex, by)).refusal == Denied("no more runs")


async def test_an_intent_that_cannot_be_written_down_runs_nothing_and_is_paid_back(tmp_path: Path):
    def full(_: object) -> None:
        raise AuditError("the disk is full")

    runtime = ScriptedRuntime([DONE])
    async with learning_cortex(tmp_path, runtime=runtime) as cortex:
        by = replace(caller(cortex, most=1), announce=full)
        with pytest.raises(AuditError, match="the disk is full"):
            await run(cortex, by)
        assert runtime.requests == []
        assert cortex.parts.energy.level() == pytest.approx(1.0)
        assert isinstance(await run(cortex, replace(by, announce=lambda _: None)), Ran)  # its place was given back


async def test_a_run_that_the_sandbox_refuses_is_paid_back_and_not_counted(tmp_path: Path):
    full = ExecutionOutcome(ok=False, error=ExecutionError(ErrorType.LIMIT, "no place"), refused=True)
    async with learning_cortex(tmp_path, runtime=ScriptedRuntime([full, DONE])) as cortex:
        by = caller(cortex, most=1)
        assert (await run(cortex, by)).refusal == Denied("no place")
        assert cortex.parts.energy.level() == pytest.approx(1.0)
        assert isinstance(await run(cortex, by), Ran)


async def test_a_host_that_fails_after_the_energy_was_taken_is_no_refusal(tmp_path: Path):
    class Broken:
        async def execute(self, *_: object, **__: object) -> None:
            raise RuntimeError("the pipe broke")

    async with learning_cortex(tmp_path, runtime=Broken()) as cortex:
        done = await run(cortex, caller(cortex))
        assert isinstance(done, HostFailed)
        assert str(done.error) == "the pipe broke"
        assert [event.why for event in cortex.events if isinstance(event, ExecutionCutShort)] == ["HOST_FAILED"]
        assert cortex.parts.energy.level() == pytest.approx(0.95)


async def test_a_cancelled_run_is_announced_as_cut_short_and_stays_paid(tmp_path: Path):
    began = anyio.Event()

    class Endless:
        async def execute(self, *_: object, **__: object) -> None:
            began.set()
            await anyio.sleep_forever()

    async with learning_cortex(tmp_path, runtime=Endless()) as cortex:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, cortex, caller(cortex))
            with anyio.fail_after(60):
                await began.wait()
            tasks.cancel_scope.cancel()
        assert [event.why for event in cortex.events if isinstance(event, ExecutionCutShort)] == ["CANCELLED"]
        assert cortex.parts.energy.level() == pytest.approx(0.95)


async def test_a_run_that_is_cancelled_while_its_reply_is_redacted_has_its_line_in_the_audit(tmp_path: Path):
    began = anyio.Event()

    async def slow(text: str) -> str:
        began.set()
        await anyio.sleep_forever()
        return text

    async with learning_cortex(tmp_path, runtime=ScriptedRuntime([DONE])) as cortex:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, cortex, replace(caller(cortex), show=slow))
            with anyio.fail_after(60):
                await began.wait()
            tasks.cancel_scope.cancel()
        (ended,) = cortex.recorded("execution")
        assert ended["reply_code"] == "CANCELLED"


async def test_refused_code_is_kept_of_the_first_refusals_only(tmp_path: Path, monkeypatch):
    monkeypatch.setattr("cortex.audit.journal.MAX_REFUSED_KEPT", 3)
    async with learning_cortex(tmp_path, runtime=ScriptedRuntime([DONE])) as cortex:
        by = caller(cortex, most=0)
        refused = [await run(cortex, by, f"return {number}") for number in range(5)]
        assert [cortex.audit.code(one.code_hash) for one in refused] == ["return 0", "return 1", "return 2", None, None]
        done = await run(cortex, caller(cortex), "return 9")
        assert isinstance(done, Ran)
        (ended,) = cortex.recorded("execution")
        assert cortex.audit.code(ended["code_hash"]) == "return 9"
