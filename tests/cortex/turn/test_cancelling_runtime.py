"""A runtime without `stop`: the kill switch cancels what it is executing, and new executions are refused."""

from __future__ import annotations

from typing import Any

import anyio

from cortex.turn import CancellingRuntime
from sandbox import ErrorType, ExecutionOutcome, ExecutionRequest
from sandbox.testing import ScriptedRuntime

REQUEST = ExecutionRequest(code="return 2")


class Endless:
    """A runtime whose executions never end by themselves."""

    def __init__(self) -> None:
        self.begun = anyio.Event()

    async def execute(self, request: Any, tools: Any = None, **named: Any) -> ExecutionOutcome:
        self.begun.set()
        await anyio.sleep_forever()
        raise AssertionError


async def test_an_execution_after_stop_is_refused_and_runs_nothing():
    inner = ScriptedRuntime([])
    runtime = CancellingRuntime(inner)
    runtime.stop("the switch is on")
    outcome = await runtime.execute(REQUEST)
    assert (outcome.ok, outcome.refused, inner.requests) == (False, True, [])
    assert outcome.error is not None
    assert "the switch is on" in outcome.error.message


async def test_an_execution_that_is_cancelled_by_stop_has_run_and_is_not_refused():
    inner = Endless()
    runtime = CancellingRuntime(inner)
    outcomes: list[ExecutionOutcome] = []

    async def run() -> None:
        outcomes.append(await runtime.execute(REQUEST))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await inner.begun.wait()
        runtime.stop("the switch is on")
    [outcome] = outcomes
    assert (outcome.ok, outcome.refused) == (False, False)
    assert outcome.error is not None
    assert outcome.error.type is ErrorType.CRASH


async def test_executions_run_again_after_allow():
    runtime = CancellingRuntime(ScriptedRuntime([ExecutionOutcome(ok=True, result=2)]))
    runtime.stop("the switch is on")
    runtime.allow()
    assert (await runtime.execute(REQUEST)).result == 2
