"""What the level of energy allows, now and later, for planning by the agent and its owner. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cortex.settings import EnergySettings
from sandbox import Tier

from .gate import DUST, FULL, cost_of, floor_of, is_possible, needed_for, seconds_until


@dataclass(frozen=True, slots=True)
class TierForecast:
    """What the level allows for one tier."""

    tier: Tier
    cost: float
    floor: float
    possible_in_s: float | None
    """0 means now; None means never, unless the owner tops up."""
    runs: int | None
    """Possible runs in a row from this level, without recharge; None when they cost nothing."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """A forecast. Seconds count from now, and assume that nothing is spent meanwhile."""

    level: float
    full_in_s: float | None
    tiers: tuple[TierForecast, ...]


def forecast(level: float, settings: EnergySettings) -> Forecast:
    return Forecast(
        level,
        seconds_until(FULL, level, settings),
        tuple(
            TierForecast(
                tier,
                cost_of(tier, settings),
                floor_of(tier, settings),
                seconds_until(needed_for(tier, settings), level, settings),
                _runs(level, tier, settings),
            )
            for tier in Tier
        ),
    )


def _runs(level: float, tier: Tier, settings: EnergySettings) -> int | None:
    if not is_possible(level, tier, settings):
        return 0
    cost = cost_of(tier, settings)
    if cost <= DUST:
        return None
    return 1 + math.floor((level + DUST - needed_for(tier, settings)) / cost)
