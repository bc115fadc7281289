"""The cost of a run: fixed for each tier or, if metering is on, from the measured work."""

from __future__ import annotations

import math

from cortex.settings import EnergySettings
from sandbox import Metrics, Tier

from .gate import cost_of

_MIB = 1024 * 1024


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
