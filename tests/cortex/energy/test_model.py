"""Any sequence of what can happen, beside a model of a few lines: the level at the last change, and its time."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from cortex.energy import EnergyReserve, Insufficient, Reservation
from cortex.settings.sections import EnergySettings
from sandbox import Tier

SETTINGS = EnergySettings(initial_level=0.5, recharge_per_minute=0.1)
NEEDED = {Tier.ISOLATED: 0.15, Tier.NETWORK: 0.30}
COST = {Tier.ISOLATED: 0.05, Tier.NETWORK: 0.15}


class Life(RuleBasedStateMachine):
    taken = Bundle("taken")

    def __init__(self) -> None:
        super().__init__()
        self.state = Path(tempfile.mkdtemp()) / "state"
        self.now = 1_800_000_000.0
        self.base, self.at = 0.5, self.now
        self.reserves = [self.opened(), self.opened()]
        self.reserves[0].level()

    def opened(self) -> EnergyReserve:
        return EnergyReserve(self.state, SETTINGS, now=lambda: self.now)

    @property
    def level(self) -> float:
        return min(1.0, self.base + max(0.0, self.now - self.at) / 600)

    @level.setter
    def level(self, level: float) -> None:
        self.base, self.at = min(1.0, max(0.0, level)), max(self.now, self.at)

    def teardown(self) -> None:
        entries = self.reserves[0].entries(10_000)
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
        for reserve in self.reserves:
            reserve.close()
        shutil.rmtree(self.state.parent)

    @rule(target=taken, who=st.integers(0, 1), tier=st.sampled_from(Tier))
    def take(self, who: int, tier: Tier) -> Reservation | None:
        answer = anyio.run(self.reserves[who].take, tier)
        if isinstance(answer, Insufficient):
            assert self.level < NEEDED[tier] + 1e-6
            return None
        assert self.level >= NEEDED[tier] - 1e-6
        self.level -= COST[tier]
        return answer

    @rule(who=st.integers(0, 1), reservation=consumes(taken), cost=st.floats(0, 0.3))
    def settle(self, who: int, reservation: Reservation | None, cost: float) -> None:
        if reservation is not None:
            anyio.run(self.reserves[who].settle, reservation, cost)
            self.level += reservation.cost - cost

    @rule(who=st.integers(0, 1), level=st.floats(0, 1))
    def set(self, who: int, level: float) -> None:
        self.reserves[who].set(level)
        self.level = level

    @rule(who=st.integers(0, 1), amount=st.floats(0.001, 1))
    def top_up(self, who: int, amount: float) -> None:
        self.reserves[who].top_up(amount)
        self.level += amount

    @rule(seconds=st.floats(0, 1000))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(seconds=st.floats(0, 100_000))
    def set_the_clock_back(self, seconds: float) -> None:
        """What had recharged since the last change is lost with the time, and it goes on from there."""
        self.now -= seconds
        self.at = self.at if self.now >= self.at - 1 else self.now

    @rule(who=st.integers(0, 1))
    def begin_anew(self, who: int) -> None:
        self.reserves[who].close()
        self.reserves[who] = self.opened()

    @rule(torn=st.binary(min_size=1, max_size=50).filter(lambda data: b"\n" not in data))
    def die_while_writing(self, torn: bytes) -> None:
        with (self.state / "energy-ledger.jsonl").open("ab") as file:
            file.write(torn)
        # The next who looks writes down what has recharged so far, and it goes on from there.
        self.level = self.level

    @invariant()
    def all_see_the_level(self) -> None:
        for reserve in self.reserves:
            assert reserve.level() == pytest.approx(self.level, abs=1e-9)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
