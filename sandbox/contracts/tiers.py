"""What code may reach, by name."""

from __future__ import annotations

from enum import StrEnum


class Tier(StrEnum):
    """What the code may reach."""

    ISOLATED = "isolated"
    NETWORK = "network"
