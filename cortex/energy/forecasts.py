"""Computes what the energy level allows now and later, and the sentences that tell the model. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from cortex.settings import EnergySettings
from sandbox import Tier

from .gate import DUST, FULL, cost_of, floor_of, is_possible, needed_for, seconds_until
from .wording import outlook, rounded_down

# With one run left there is still time to plan. Earlier, a line after each result would be noise.
_FEW_RUNS = 1


@dataclass(frozen=True, slots=True)
class TierForecast:
    """What the level allows for one tier."""

    tier: Tier
    cost: float
    floor: float
    possible_in_s: float | None
    """0 means now; None means never, unless the owner tops up or turns the kill switch off."""
    runs: int | None
    """Possible runs in a row from this level, without recharge; None when they cost nothing."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """A forecast. Seconds count from now, and assume that nothing is spent meanwhile."""

    level: float
    full_in_s: float | None
    tiers: tuple[TierForecast, ...]
    killed: str | None = None
    """Why nothing runs, whatever the level; None while the kill switch is off."""


def forecast(level: float, settings: EnergySettings, killed: str | None = None) -> Forecast:
    is_killed = killed is not None
    return Forecast(
        level,
        seconds_until(FULL, level, settings),
        tuple(
            TierForecast(
                tier,
                cost_of(tier, settings),
                floor_of(tier, settings),
                None if is_killed else seconds_until(needed_for(tier, settings), level, settings),
                0 if is_killed else _runs(level, tier, settings),
            )
            for tier in Tier
        ),
        killed,
    )


def _runs(level: float, tier: Tier, settings: EnergySettings) -> int | None:
    if not is_possible(level, tier, settings):
        return 0
    cost = cost_of(tier, settings)
    if cost <= DUST:
        return None
    return 1 + math.floor((level + DUST - needed_for(tier, settings)) / cost)


def energy_note(level: float, settings: EnergySettings) -> str | None:
    """One line when some tier is out of reach, or will be after one more run; else None."""
    tiers = forecast(level, settings).tiers
    if all(tier.runs is None or tier.runs > _FEW_RUNS for tier in tiers):
        return None
    return f"Energy {rounded_down(level)}: {'; '.join(f'{tier.tier} is {outlook(tier)}' for tier in tiers)}."


def prices(level: float, settings: EnergySettings) -> dict[str, Any]:
    """The level and what it buys, as JSON. Rounded to save tokens, and never in the model's favour."""
    seen = forecast(level, settings)
    answer: dict[str, Any] = {
        "level": float(rounded_down(level, 4)),
        "recharge_per_minute": settings.recharge_per_minute,
        "full_in_s": _up(seen.full_in_s),
        "tiers": {
            tier.tier.value: {
                "cost": tier.cost,
                "needs_level": max(tier.cost, tier.floor),
                "runs_now": tier.runs,
                "possible_in_s": _up(tier.possible_in_s),
            }
            for tier in seen.tiers
        },
    }
    if settings.metered.enabled:
        answer["metered"] = {"at_least": settings.metered.floor, "at_most": settings.metered.ceiling}
    return answer


def _up(seconds: float | None) -> int | None:
    return None if seconds is None else math.ceil(seconds)
