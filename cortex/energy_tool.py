"""`core.energy`, and the line about energy that a model sees when it matters. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .energy import forecast, in_about, rounded_down

if TYPE_CHECKING:
    from .energy import TierForecast
    from .sections import EnergySettings


def prices(level: float, settings: EnergySettings) -> dict[str, Any]:
    """What a model needs to plan: the level, what each tier costs, and when it is possible."""
    seen = forecast(level, settings)
    return {
        "level": level,
        "recharge_per_minute": settings.recharge_per_minute,
        "tiers": {
            tier.tier.value: {
                "cost": tier.cost,
                "refused_below": max(tier.floor, tier.cost),
                "possible": tier.possible_in_s == 0,
                "possible_in_seconds": tier.possible_in_s,
                "runs_left": tier.runs,
            }
            for tier in seen.tiers
        },
    }


def low_energy(level: float, settings: EnergySettings) -> str | None:
    """A line for the model, once a tier is out of reach; nothing before that."""
    tiers = forecast(level, settings).tiers
    if all(tier.possible_in_s == 0 for tier in tiers):
        return None
    return f"[energy {rounded_down(level)}: {'; '.join(map(_said, tiers))}]"


def _said(tier: TierForecast) -> str:
    if tier.possible_in_s is None:
        return f"{tier.tier} not before the owner tops it up"
    if tier.possible_in_s > 0:
        return f"{tier.tier} {in_about(tier.possible_in_s)}"
    if tier.runs is None:
        return f"{tier.tier} possible"
    return f"{tier.tier} possible {'once' if tier.runs == 1 else f'{tier.runs} times'}"
