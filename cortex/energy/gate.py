"""The gate: decides whether the energy suffices for a run, or when it will, and what the run costs. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import takewhile
from typing import assert_never

from cortex.settings import EnergySettings
from sandbox import Metrics, Tier

from .wording import explain

FULL = 1.0
# Rounding: 1 minus seventeen times 0.05 is slightly less than 0.15. That must not refuse a run.
DUST = 1e-9
_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Affordable:
    """The tier may run, and takes the cost from this level."""

    tier: Tier
    cost: float
    level: float


@dataclass(frozen=True, slots=True)
class Insufficient:
    """The tier may not run now. Nothing is charged for the answer."""

    tier: Tier
    cost: float
    floor: float
    level: float
    wait_s: float | None
    """Seconds until the level suffices, if nothing is spent meanwhile; None when recharging never gets there."""
    cheaper: Tier | None = None
    """A narrower tier that costs no more and is possible now."""

    @property
    def needed(self) -> float:
        return max(self.cost, self.floor)

    def __str__(self) -> str:
        return explain(self)


def recharged(level: float, elapsed_s: float, settings: EnergySettings) -> float:
    """The level after a time without spending: never lower, and never more than full.

    A clock that went backwards counts as no time passed.
    """
    gained = elapsed_s / 60 * settings.recharge_per_minute
    return max(level, min(FULL, level + gained))


def weigh(level: float, tier: Tier, settings: EnergySettings) -> Affordable | Insufficient:
    """Decide whether the tier may run at this level."""
    cost = cost_of(tier, settings)
    if is_possible(level, tier, settings):
        return Affordable(tier, cost, level)
    # Tiers are listed from narrow to wide: a model that lacks energy must never be led to a wider one.
    narrower = takewhile(lambda other: other is not tier, Tier)
    possible = [other for other in narrower if cost_of(other, settings) <= cost and is_possible(level, other, settings)]
    return Insufficient(
        tier,
        cost,
        floor_of(tier, settings),
        level,
        seconds_until(needed_for(tier, settings), level, settings),
        min(possible, key=lambda other: cost_of(other, settings), default=None),
    )


def seconds_until(target: float, level: float, settings: EnergySettings) -> float | None:
    """Seconds until recharging reaches the target; None if it never does."""
    if level + DUST >= target:
        return 0.0
    if settings.recharge_per_minute == 0:
        return None
    wait_s = (target - level) / settings.recharge_per_minute * 60
    return wait_s if math.isfinite(wait_s) else None


def is_possible(level: float, tier: Tier, settings: EnergySettings) -> bool:
    return level + DUST >= needed_for(tier, settings)


def needed_for(tier: Tier, settings: EnergySettings) -> float:
    """The lowest level at which the tier runs: at least its floor, and enough for its cost."""
    return max(cost_of(tier, settings), floor_of(tier, settings))


def cost_of(tier: Tier, settings: EnergySettings) -> float:
    match tier:
        case Tier.ISOLATED:
            return settings.cost_isolated
        case Tier.NETWORK:
            return settings.cost_network
    assert_never(tier)


def floor_of(tier: Tier, settings: EnergySettings) -> float:
    match tier:
        case Tier.ISOLATED:
            return settings.floor_isolated
        case Tier.NETWORK:
            return settings.floor_network
    assert_never(tier)


def metered_cost(metrics: Metrics, tier: Tier, settings: EnergySettings) -> float:
    """The cost of a run, between the floor and the ceiling whatever was measured. While metering is off, the tier's
    cost."""
    rates = settings.metered
    if not rates.enabled:
        return cost_of(tier, settings)
    measured = (
        rates.per_cpu_second * metrics.cpu_ms / 1000
        + rates.per_peak_gib * metrics.peak_memory_mb / 1024
        + rates.per_fetched_mib * metrics.fetched_bytes / _MIB
        + rates.per_tool_call * metrics.tool_calls
    )
    # An impossible measurement must not be cheap.
    return min(rates.ceiling, max(rates.floor, measured)) if math.isfinite(measured) else rates.ceiling
