"""A resident with a fixed clock and seed: signals of the same time find the same world, and nobody is told."""

from __future__ import annotations

import pytest

from sandbox import DenoRuntime, ResidentProgram
from tests.conftest import small

pytestmark = [
    pytest.mark.deno,
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
]

LOOKS = """
const looks = [Date.now(), new Date().getTime(), performance.now(), Math.random(), crypto.randomUUID()];
emit("looked", looks);
"""
WAITS = "const start = Date.now(); while (Date.now() < start + 5); emit('waited')"


def at(ms: int) -> dict[str, object]:
    return {"type": "go", "data": None, "at": ms}


async def test_each_signal_finds_the_clock_at_its_own_time_and_chance_at_its_beginning():
    program = ResidentProgram(code=LOOKS, timeout_ms=5000, deterministic=True)
    async with DenoRuntime(small(pool_size=0)) as runtime, runtime.resident(program) as opened:
        answer = await opened.handle([at(1_800_000_000_250), at(1_700_000_000_000), at(1_800_000_000_250)], {})
    first, second, third = [each.emitted[0][1] for each in answer.answers]
    assert first == third
    assert first[:3] == [1_800_000_000_250, 1_800_000_000_250, 0]
    assert second[:3] == [1_700_000_000_000, 1_700_000_000_000, 0]
    assert first[3:] == second[3:]


async def test_code_that_waits_for_the_clock_does_not_wait_for_ever():
    program = ResidentProgram(code=WAITS, timeout_ms=5000, deterministic=True)
    async with DenoRuntime(small(pool_size=0)) as runtime, runtime.resident(program) as opened:
        [answer] = (await opened.handle([at(5)], {})).answers
    assert answer.emitted == (("waited", None),)


async def test_without_it_clock_and_chance_are_real():
    program = ResidentProgram(code=LOOKS, timeout_ms=5000)
    async with DenoRuntime(small(pool_size=0)) as runtime, runtime.resident(program) as opened:
        first, second = (await opened.handle([at(5), at(5)], {})).answers
    assert first.emitted[0][1][0] > 1_700_000_000_000
    assert first.emitted[0][1][3:] != second.emitted[0][1][3:]
