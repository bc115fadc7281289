"""Code that waits for a person: its timeouts are paused, and nothing else is."""

from __future__ import annotations

import time

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionRequest, person_decides
from sandbox.run.run_clock import _under_way
from sandbox.testing import FunctionTools
from tests.conftest import execute, small

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]

LIMIT_MS = 300
LONGER_S = 0.6
"""Longer than LIMIT_MS."""
SLOWER = (1, 20)
"""If the machine stalls for as long as the limit, the code is late: then the test is retried with limits and waits this
many times as long. Code that does not pause the clock is too late with these as well."""
ASK = "return await tools.ask({})"
SPIN = "while (true) {}"
WAIT = "await new Promise((resolve) => setTimeout(resolve, 60_000))"


def asking(ask, **others):
    return FunctionTools({"ask": ask, **others})


def held(times=1, asked=None):
    """A tool that holds the clock for longer than the limit, and notes that it was asked."""

    async def hold(arguments):
        if asked is not None:
            asked.append(True)
        with person_decides():
            await anyio.sleep(LONGER_S * times)
        return "yes"

    return hold


async def test_a_person_may_take_longer_than_the_run_has():
    for times in SLOWER:
        outcome = await execute(ASK, asking(held(times)), timeout_ms=LIMIT_MS * times)
        if outcome.ok:
            break
    assert (outcome.result, outcome.error) == ("yes", None)
    assert outcome.metrics.execution_ms > LIMIT_MS * times


async def test_a_tool_may_not():
    async def slow(arguments):
        await anyio.sleep(60)

    outcome = await execute(ASK, asking(slow), timeout_ms=LIMIT_MS)
    assert outcome.error.type == ErrorType.TIMEOUT


async def test_a_person_may_take_longer_than_a_tool_has():
    for times in SLOWER:
        outcome = await execute(ASK, asking(held(times)), timeout_ms=60_000, tool_timeout_ms=LIMIT_MS * times)
        if outcome.ok:
            break
    assert outcome.result == "yes"


async def test_the_tool_has_what_was_left_of_its_time_when_the_person_has_decided():
    async def then_slow(arguments):
        with person_decides():
            await anyio.sleep(LONGER_S)
        await anyio.sleep(60)

    code = "try { await tools.ask({}) } catch (error) { return error.code }"
    outcome = await execute(code, asking(then_slow), timeout_ms=30_000, tool_timeout_ms=LIMIT_MS)
    assert outcome.result == "timeout"


async def test_code_has_what_was_left_of_its_time_when_the_person_has_decided():
    asked = []
    for times in SLOWER:
        outcome = await execute(
            f"await tools.ask({{}}); {SPIN}", asking(held(times, asked)), timeout_ms=LIMIT_MS * times
        )
        assert outcome.error.type == ErrorType.TIMEOUT
        if asked:
            break
    assert outcome.metrics.execution_ms > LONGER_S * times * 1000


async def test_code_that_goes_on_when_a_person_has_decided_is_ended_when_its_time_has_come():
    """Early release: the task that waits for the process must not sleep until the hold would have ended."""
    decided = []

    async def ask(arguments):
        with person_decides(at_most_s=60):
            await anyio.sleep(LONGER_S)
        decided.append(True)
        await anyio.sleep(60)

    for times in SLOWER:
        with anyio.fail_after(50):
            outcome = await execute(f"tools.ask({{}}); {WAIT}", asking(ask), timeout_ms=LIMIT_MS * times)
        assert outcome.error.type == ErrorType.TIMEOUT
        if decided:
            break
    assert decided == [True]


@pytest.mark.parametrize(
    "spin",
    [
        SPIN,
        "for (;;) { for (let i = 0; i < 1e6; i++); await new Promise((resolve) => setTimeout(resolve, 0)) }",
        "for (;;) { for (let i = 0; i < 1e7; i++); console.log(1) }",
    ],
    ids=["silent", "with pauses", "talking"],
)
async def test_code_that_computes_while_a_person_decides_uses_up_its_time(spin):
    async def ask(arguments):
        with person_decides():
            await anyio.sleep_forever()

    with anyio.fail_after(60):
        outcome = await execute(f"tools.ask({{}}); {spin}", asking(ask), timeout_ms=LIMIT_MS)
    assert outcome.error.type == ErrorType.TIMEOUT


async def test_code_that_has_computed_and_now_waits_for_a_person_loses_nothing():
    code = """
    const end = performance.now() + 100;
    while (performance.now() < end);
    return await tools.ask({});
    """
    for times in (2, 20):
        outcome = await execute(code, asking(held(times)), timeout_ms=500 * times)
        if outcome.ok:
            break
    assert (outcome.result, outcome.error) == ("yes", None)


async def test_a_hold_ends_after_the_time_that_it_was_given():
    cancelled = []

    async def ask(arguments):
        with person_decides(at_most_s=0.3):
            try:
                await anyio.sleep(60)
            finally:
                cancelled.append(True)

    for code in (ASK, f"tools.ask({{}}); {WAIT}"):
        cancelled.clear()
        for times in SLOWER:
            with anyio.fail_after(50):
                outcome = await execute(code, asking(ask), timeout_ms=LIMIT_MS * times)
            assert outcome.error.type == ErrorType.TIMEOUT
            if cancelled:
                break
        assert outcome.metrics.execution_ms > LIMIT_MS * times + 250
        assert cancelled == [True]


async def test_holds_at_once_and_inside_each_other_count_once():
    def nested(times):
        async def hold(arguments):
            with person_decides():
                async with anyio.create_task_group() as tasks:
                    for _ in range(2):
                        tasks.start_soon(held(times), {})
            return "yes"

        return hold

    code = "return await Promise.all([tools.ask({}), tools.ask({}), tools.nested({})])"
    for times in SLOWER:
        outcome = await execute(code, asking(held(times), nested=nested(times)), timeout_ms=LIMIT_MS * times)
        if outcome.ok:
            break
    assert outcome.result == ["yes"] * 3


async def test_the_code_may_end_the_run_while_a_person_decides():
    cancelled = []

    async def ask(arguments):
        try:
            with person_decides():
                await anyio.sleep(60)
        finally:
            cancelled.append(True)

    with anyio.fail_after(60):
        code = "tools.ask({}); await new Promise((r) => setTimeout(r, 100)); return 1"
        outcome = await execute(code, asking(ask), timeout_ms=20_000)
    assert (outcome.result, cancelled) == (1, [True])


async def test_memory_is_watched_while_a_person_decides(monkeypatch):
    monkeypatch.setattr("sandbox.wall.wall.can_fork_serve", lambda: False)  # nothing but the watch

    async def ask(arguments):
        with person_decides():
            await anyio.sleep(60)

    code = """
    tools.ask({});
    const kept = [];
    for (;;) { kept.push(new Uint8Array(8 << 20).fill(1)); await new Promise((r) => setTimeout(r, 10)) }
    """
    with anyio.fail_after(60):
        outcome = await execute(code, asking(ask), timeout_ms=20_000, max_memory_mb=256, require=())
    assert outcome.error.type == ErrorType.MEMORY


async def test_a_cancelled_run_takes_the_question_with_it_and_the_runtime_goes_on():
    asked = anyio.Event()
    cancelled = []

    async def ask(arguments):
        with person_decides():
            asked.set()
            try:
                await anyio.sleep(60)
            finally:
                cancelled.append(True)

    async with DenoRuntime(small()) as runtime:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(runtime.execute, ExecutionRequest(code=ASK), asking(ask))
            await asked.wait()
            tasks.cancel_scope.cancel()
        assert cancelled == [True]
        assert (await runtime.execute(ExecutionRequest(code=ASK), asking(held()))).result == "yes"


async def test_a_tool_in_a_thread_may_ask_too():
    def wait(times) -> str:
        with person_decides():
            time.sleep(LONGER_S * times)
        return "yes"

    for times in SLOWER:

        async def ask(arguments, times=times):
            return await anyio.to_thread.run_sync(wait, times)

        outcome = await execute(ASK, asking(ask), timeout_ms=LIMIT_MS * times)
        if outcome.ok:
            break
    assert outcome.result == "yes"


async def test_a_run_inside_a_tool_holds_the_run_around_it():
    async with DenoRuntime(small()) as runtime:
        for times in (3, 20):

            async def delegate(arguments, times=times):
                request = ExecutionRequest(code=ASK, timeout_ms=LIMIT_MS * times)
                return (await runtime.execute(request, asking(held(times)))).result

            request = ExecutionRequest(code="return await tools.delegate({})", timeout_ms=500 * times)
            outcome = await runtime.execute(request, FunctionTools({"delegate": delegate}))
            if outcome.result == "yes":
                break
    assert outcome.result == "yes"


async def test_what_a_tool_leaves_behind_holds_nothing():
    async with anyio.create_task_group() as tasks:

        async def forgotten():
            with person_decides():
                began.set()
                await anyio.sleep(60)

        async def ask(arguments):
            nonlocal began
            began = anyio.Event()
            tasks.start_soon(forgotten)
            await began.wait()
            return "not waited for"

        began = anyio.Event()
        with anyio.fail_after(60):
            outcome = await execute(f"await tools.ask({{}}); {SPIN}", asking(ask), timeout_ms=LIMIT_MS)
        tasks.cancel_scope.cancel()
    assert outcome.error.type == ErrorType.TIMEOUT


async def test_a_call_that_is_over_cannot_be_held():
    calls = []

    async def ask(arguments):
        calls.append(_under_way.get())

    async with DenoRuntime(small()) as runtime:

        async def hold_the_first(arguments):
            calls[0].hold(object(), 60)

        code = f"await tools.ask({{}}); await tools.late({{}}); {SPIN}"
        with anyio.fail_after(60):
            outcome = await runtime.execute(
                ExecutionRequest(code=code, timeout_ms=LIMIT_MS), asking(ask, late=hold_the_first)
            )
    assert outcome.error.type == ErrorType.TIMEOUT


async def test_outside_of_a_tool_it_does_nothing():
    with person_decides(), person_decides(at_most_s=0):
        pass

    def in_a_thread() -> None:
        with person_decides():
            pass

    await anyio.to_thread.run_sync(in_a_thread)
    assert _under_way.get() is None
