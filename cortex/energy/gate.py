"""The gate: whether the energy suffices for a tier, and if not, when it will. Pure decisions about numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import takewhile
from typing import assert_never

from cortex.settings import EnergySettings
from sandbox import Tier

from .wording import explain

FULL = 1.0
# Seventeen times 0.05 from 1 is not quite 0.15: what rounding takes away must not refuse a run.
DUST = 1e-9


@dataclass(frozen=True, slots=True)
class Affordable:
    """The tier may run, and it takes the cost from this level."""

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
    """Until it suffices, if nothing is spent meanwhile; None when it never will by itself."""
    cheaper: Tier | None = None
    """A tier that reaches less, costs no more and is possible now."""

    @property
    def needed(self) -> float:
        return max(self.cost, self.floor)

    def __str__(self) -> str:
        return explain(self)


def recharged(level: float, elapsed_s: float, settings: EnergySettings) -> float:
    """The level after a time in which nothing was spent: never lower, and never more than full.

    A clock that went backwards has passed no time.
    """
    gained = elapsed_s / 60 * settings.recharge_per_minute
    return max(level, min(FULL, level + gained))


def weigh(level: float, tier: Tier, settings: EnergySettings) -> Affordable | Insufficient:
    cost = cost_of(tier, settings)
    if is_possible(level, tier, settings):
        return Affordable(tier, cost, level)
    # Tiers are listed by what they reach: a model that lacks energy is never led to one that reaches further.
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
    """How long it takes to recharge to the target; None if it never gets there by itself."""
    if level + DUST >= target:
        return 0.0
    if settings.recharge_per_minute == 0:
        return None
    wait_s = (target - level) / settings.recharge_per_minute * 60
    return wait_s if math.isfinite(wait_s) else None


def is_possible(level: float, tier: Tier, settings: EnergySettings) -> bool:
    return level + DUST >= needed_for(tier, settings)


def needed_for(tier: Tier, settings: EnergySettings) -> float:
    """The lowest level at which the tier runs: it must reach the floor, and pay for the run."""
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
