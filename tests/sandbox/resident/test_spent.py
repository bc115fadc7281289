"""What a batch has computed is divided among its signals: the process says how, and the host checks the sum."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from sandbox.resident.spent import divided

from .test_resident_hostile import FIRST_BATCH
from .test_residents import resident, signals

amounts = st.floats(0, 1e6)


@given(st.lists(amounts, min_size=1, max_size=64), amounts)
def test_together_the_signals_are_charged_what_the_host_has_measured(said, total):
    parts = divided(said, total)
    assert len(parts) == len(said)
    assert min(parts) >= 0
    assert sum(parts) == pytest.approx(total, abs=1e-6)


def test_a_process_that_says_nothing_of_a_large_amount_is_charged_for_it_at_one_signal():
    assert max(divided([0.0] * 64, 2_400.0)) > 2_000
    assert max(divided([10.0] * 64, 640.0 + 2_400.0)) > 2_000


def test_what_nobody_has_computed_in_particular_is_everybodys():
    assert divided([1.0] * 64, 70.0) == pytest.approx([70 / 64] * 64)


def test_a_process_that_says_more_than_it_can_have_computed_is_charged_what_there_was():
    assert divided([300.0, 100.0], 40.0) == [30.0, 10.0]
    assert divided([1.0, 2.0], 0.0) == [0.0, 0.0]


HEAVY = (
    "let sum = 0; for (let n = 0; n < (signal.data ? 300_000_000 : 1); n++) sum += Math.sqrt(n); globalThis.sum = sum;"
)


@pytest.mark.deno
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("ending", ["", 'throw new Error("late")'])
async def test_one_costly_signal_among_many_is_found(ending):
    async with resident(f"{HEAVY} if (signal.data) {{ {ending} }}", timeout_ms=20_000) as opened:
        opened._process.most_at_once = 64
        await opened.handle(signals(0), {})
        batch = await opened.handle(signals(*[0] * 40, 1, *[0] * 23), {})
    heavy, others = batch.answers[40], [*batch.answers[:40], *batch.answers[41:]]
    assert heavy.ok == (ending == "")
    assert heavy.cpu_ms > sum(other.cpu_ms for other in others)
    assert sum(answer.cpu_ms for answer in batch.answers) == pytest.approx(batch.work.cpu_ms)


@pytest.mark.deno
@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_code_that_answers_for_the_harness_hides_nothing_of_what_it_computed():
    heavy = HEAVY.replace("signal.data", "true")
    code = (
        f"{FIRST_BATCH} {heavy} for (let at = 0; at < 3; at++) send({{ ...answer, at, cpu_us: 0 }}); while (true) {{}}"
    )
    async with resident(code, timeout_ms=20_000) as opened:
        batch = await opened.handle(signals(1, 2, 3), {})
    assert [answer.ok for answer in batch.answers] == [True] * 3
    assert max(answer.cpu_ms for answer in batch.answers) > batch.work.cpu_ms / 2
    assert sum(answer.cpu_ms for answer in batch.answers) == pytest.approx(batch.work.cpu_ms)
