"""The cache in its place, behind the gate, the guard and the owner, with real Deno."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from cortex import MotorCortex, ScriptedOwner, Settings, Toolbox
from cortex.contracts.events import ExecutionEnded
from cortex.show.parts import took
from sandbox import DenoRuntime, Metrics
from tests.conftest import small

pytestmark = pytest.mark.deno

CODE = "return [3, 1, 2].sort()"
RESULT = "[1,2,3]"


@asynccontextmanager
async def opened(home: Path, runtime: DenoRuntime, *, toolbox=None, owner=None, **sections: Any):
    sections.setdefault("energy", {"recharge_per_minute": 0})
    settings = Settings(home=home, **sections)
    async with MotorCortex(settings, runtime=runtime, toolbox=toolbox, owner=owner) as cortex:
        yield cortex


@pytest.fixture
async def deno() -> AsyncIterator[DenoRuntime]:
    async with DenoRuntime(small(pool_size=2)) as runtime:
        yield runtime


async def run(cortex: MotorCortex, code: str = CODE) -> str:
    """In a turn of its own."""
    async with cortex.turn() as turn:
        return await turn.call("core.execute", {"purpose": "sort", "code": code})


def executions(cortex: MotorCortex) -> list[dict[str, Any]]:
    return [dict(record.facts) for record in cortex.audit.records() if record.kind == "execution"]


async def test_a_result_from_the_cache_costs_little_and_is_written_down_as_what_it_is(
    tmp_path: Path, deno: DenoRuntime
):
    events: list[Any] = []
    async with opened(tmp_path, deno) as cortex:
        assert await run(cortex) == RESULT
        assert cortex.energy.level() == pytest.approx(0.95)
        async with cortex.turn(events.append) as turn:
            assert await turn.call("core.execute", {"purpose": "sort", "code": CODE}) == RESULT
        assert cortex.energy.level() == pytest.approx(0.948)
        first, second = executions(cortex)
    assert ("cached" in first, first["cost"]) == (False, 0.05)
    assert (second["cached"], second["cost"], second["ok"]) == (True, pytest.approx(0.002), True)
    assert (second["code_hash"], second["result_hash"]) == (first["code_hash"], first["result_hash"])
    [ended] = [event for event in events if isinstance(event, ExecutionEnded)]
    assert ended.outcome.metrics.cached
    assert took(ended.outcome.metrics) == "from the cache, nothing ran"


async def test_another_process_finds_it_in_the_home(tmp_path: Path, deno: DenoRuntime):
    async with opened(tmp_path, deno) as cortex:
        await run(cortex)
    async with opened(tmp_path, deno) as cortex:
        assert await run(cortex) == RESULT
        assert executions(cortex)[-1]["cached"]


async def test_another_context_is_another_result(tmp_path: Path, deno: DenoRuntime):
    async with opened(tmp_path, deno) as cortex:
        for number in (1, 2, 1):
            async with cortex.turn() as turn:
                answer = await turn.execute_code({"code": "return context.a", "context": {"a": number}})
            assert answer.text == str(number)
        assert [facts.get("cached") for facts in executions(cortex)] == [None, None, True]


async def test_the_cache_works_with_a_toolbox_too(tmp_path: Path, deno: DenoRuntime):
    toolbox = Toolbox()

    @toolbox.tool(name="shop.stock")
    async def stock() -> int:
        """How many."""
        return 3

    async with opened(tmp_path, deno, toolbox=toolbox) as cortex:
        assert [await run(cortex) for _ in range(2)] == [RESULT, RESULT]
        calling = "return await tools.shop.stock({})"
        assert [await run(cortex, calling) for _ in range(2)] == ["3", "3"]
        assert [facts.get("cached") for facts in executions(cortex)] == [None, True, None, None]


async def test_code_that_hides_its_use_of_the_clock_gets_the_real_time_and_is_not_cached(
    tmp_path: Path, deno: DenoRuntime
):
    code = "console.log('looking'); return new Date(...[]).getTime()"
    async with opened(tmp_path, deno) as cortex:
        for _ in range(2):
            assert abs(int(await run(cortex, code)) / 1000 - time.time()) < 600
        assert [facts.get("cached") for facts in executions(cortex)] == [None, None]
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


async def test_it_counts_as_a_call_of_the_turn(tmp_path: Path, deno: DenoRuntime):
    async with opened(tmp_path, deno, execute={"max_calls_per_turn": 2}) as cortex, cortex.turn() as turn:
        texts = [await turn.call("core.execute", {"purpose": "sort", "code": CODE}) for _ in range(3)]
    assert texts[:2] == [RESULT, RESULT]
    assert texts[2].startswith("EXECUTION_DENIED: core_execute runs at most 2 times")


async def test_the_guard_and_the_owner_come_before_it(tmp_path: Path, deno: DenoRuntime):
    suspicious = "const child_process = [2, 1]; return child_process.sort()"
    async with opened(tmp_path, deno, execute={"guard": False}) as cortex:
        await run(cortex, suspicious)
        await run(cortex)
    owner = ScriptedOwner([False, True])
    async with opened(tmp_path, deno, owner=owner, tools={"policies": {"core.execute": "ask"}}) as cortex:
        assert (await run(cortex, suspicious)).startswith("EXECUTION_BLOCKED")
        assert (await run(cortex)).startswith("EXECUTION_DENIED: the owner was asked")
        assert await run(cortex) == RESULT
        assert executions(cortex)[-1]["cached"]
    assert len(owner.questions) == 2


async def test_the_floor_of_the_energy_and_the_kill_switch_hold_for_it(tmp_path: Path, deno: DenoRuntime):
    async with opened(tmp_path, deno) as cortex:
        await run(cortex)
        cortex.energy.set(0.14)
        assert (await run(cortex)).startswith("EXECUTION_DENIED: Insufficient energy")
        assert cortex.energy.level() == pytest.approx(0.14)
        cortex.energy.set(1.0)
        cortex.switch.turn_on("enough", "owner")
        assert (await run(cortex)).startswith("EXECUTION_DENIED: Kill switch is on")
        assert len(executions(cortex)) == 1


@pytest.mark.parametrize(
    ("settings", "levels"),
    [({"hit_cost": 0.01}, [0.95, 0.94]), ({"hit_cost": 0}, [0.95, 0.95]), ({"enabled": False}, [0.95, 0.90])],
    ids=["costly", "free", "off"],
)
async def test_what_it_costs_and_whether_it_is_there_can_be_set(
    settings: dict[str, object], levels: list[float], tmp_path: Path, deno: DenoRuntime
):
    async with opened(tmp_path, deno, cache=settings) as cortex:
        found = []
        for _ in range(2):
            await run(cortex)
            found.append(cortex.energy.level())
    assert found == pytest.approx(levels)


async def test_a_metered_run_pays_for_what_it_used_and_a_known_result_does_not(tmp_path: Path, deno: DenoRuntime):
    energy = {"recharge_per_minute": 0, "metered": {"enabled": True, "floor": 0.03, "ceiling": 0.03}}
    async with opened(tmp_path, deno, energy=energy) as cortex:
        for _ in range(2):
            await run(cortex)
        assert [facts["cost"] for facts in executions(cortex)] == pytest.approx([0.03, 0.002])


def test_what_ran_says_how_long_it_took():
    assert took(Metrics(execution_ms=1.26)) == "1.3 ms"
