"""The tiers: names for what the code in the sandbox may reach."""

from __future__ import annotations

from enum import StrEnum


class Tier(StrEnum):
    """What the code may reach: nothing outside, or also the network through the broker."""

    ISOLATED = "isolated"
    NETWORK = "network"
