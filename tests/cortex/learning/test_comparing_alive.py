"""In an open cortex, scripts that look unlike are run side by side in the background, and become one habit."""

from __future__ import annotations

import anyio
import pytest

from cortex import MotorCortex, Settings
from cortex.settings.sections import EnergySettings
from tests.conftest import small
from tests.neurons.habits.test_comparing import LOOP, SHIFT

pytestmark = pytest.mark.deno

# Only what hangs takes so long, on a slow machine too.
BOUND_S = 120
NUMBERS = {"n": [9, 2, 7, 4, 11, 5, 8]}


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    """What is done every half a minute is done at once."""
    monkeypatch.setattr("neurons.habits.comparing.LOOK_S", 0.1)


def settings(home, **habits) -> Settings:
    energy = EnergySettings(cost_isolated=0, cost_network=0)
    return Settings(home=home, sandbox=small(), energy=energy, neurons={"habits": habits})


async def run_all(cortex: MotorCortex) -> None:
    for code in (LOOP, SHIFT, SHIFT):
        async with cortex.turn() as turn:
            answer = await turn.execute_code({"code": code, "context": NUMBERS})
            assert answer.structured["result"] == 7, answer


async def test_scripts_in_other_styles_become_one_habit_in_an_open_cortex(tmp_path, nothing_left):
    async with MotorCortex(settings(tmp_path)) as cortex:
        await run_all(cortex)
        with anyio.fail_after(BOUND_S):
            while not cortex.learning.habits.all():
                await anyio.sleep(0.05)
        [habit] = cortex.learning.habits.all()
        assert (habit.occurrences, len(habit.codes)) == (3, 2)


async def test_nothing_is_compared_when_that_is_switched_off(tmp_path, nothing_left):
    async with MotorCortex(settings(tmp_path, compare=False)) as cortex:
        await run_all(cortex)
        for _ in range(20):
            await anyio.sleep(0.05)
            assert cortex.learning.habits.all() == []
