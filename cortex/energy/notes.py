"""What the model is told about its energy: everything when it asks, and one unasked line when energy runs low."""

from __future__ import annotations

import math
from typing import Any

from cortex.settings import EnergySettings

from .forecasts import forecast
from .wording import outlook, rounded_down

# With one run left there is still time to plan. Earlier, a line after each result would be noise.
_FEW_RUNS = 1


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
