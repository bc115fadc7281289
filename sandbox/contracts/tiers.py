"""The tiers: names for what the code in the sandbox may reach.

A module of its own because `cortex run` needs it before pydantic is loaded, which the requests and outcomes import.
"""

from __future__ import annotations

from enum import StrEnum


class Tier(StrEnum):
    """What the code may reach: nothing outside, or also the network through the broker."""

    ISOLATED = "isolated"
    NETWORK = "network"
