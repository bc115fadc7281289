"""Puts energy into words, for the model and the owner. The time at which energy suffices is never given too early."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .forecasts import TierForecast
    from .gate import Insufficient

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
# (up to, in steps of, in units of, name): finer than a person waits, coarse enough to say.
_STEPS = (
    (10, 1, 1, "second"),
    (90, 5, 1, "second"),
    (90 * _MINUTE, _MINUTE, _MINUTE, "minute"),
    (36 * _HOUR, _HOUR, _HOUR, "hour"),
    (365 * _DAY, _DAY, _DAY, "day"),
)
_MOST_DECIMALS = 6
_CELLS = 10


def explain(lack: Insufficient) -> str:
    """Explain a refusal: what is missing, when it will suffice, and what is possible instead."""
    needed, level = _side_by_side(lack.needed, lack.level)
    missing = f"The {lack.tier} tier needs {needed} and the level is {level}"
    if lack.wait_s is None:
        later = "; it does not recharge by itself, but the owner can top it up."
    else:
        later = f"; it will suffice {in_about(lack.wait_s)}."
    instead = f" The {lack.cheaper} tier is possible now." if lack.cheaper is not None else ""
    return f"Insufficient energy for code execution. {missing}{later}{instead}"


def outlook(tier: TierForecast, killed: str | None = None) -> str:
    """What the level means for a tier, to follow "<tier> is". `killed` is that of the forecast."""
    if killed is not None:
        return "not possible until cortex revive"
    if tier.possible_in_s is None:
        return "not possible until it is topped up"
    if tier.possible_in_s > 0:
        return f"possible {in_about(tier.possible_in_s)}"
    return "possible" if tier.runs is None else f"possible, {tier.runs} run{'' if tier.runs == 1 else 's'} in a row"


def despite_the_level(killed: str) -> str:
    """Why nothing runs while the kill switch is on."""
    return f"Nothing runs, whatever the level: {killed}"


def drawn(level: float, full: str, empty: str) -> str:
    """The level as a bar of marks. It looks full only when it is."""
    count = _CELLS if level >= 1 else min(max(int(level * _CELLS + 0.5), 0), _CELLS - 1)
    return full * count + empty * (_CELLS - count)


def in_about(seconds: float) -> str:
    """A time from now in words. Rounded up: a person who comes back then does not come in vain."""
    for limit, step, unit, name in _STEPS:
        rounded = math.ceil(seconds / step - 1e-9) * step
        if rounded <= limit:
            count = max(rounded // unit, 1)
            return f"in about {count} {name}{'' if count == 1 else 's'}"
    return "in more than a year"


def rounded_down(level: float, decimals: int = 2) -> str:
    """A level as text. Rounded down, or a refusal would read as a mistake."""
    shown = math.floor(level * 10**decimals + 1e-9 * 10**decimals) / 10**decimals
    return f"{shown:.{decimals}f}"


def _side_by_side(needed: float, level: float) -> tuple[str, str]:
    """Both numbers, with enough decimals to show that the level is lower."""
    for decimals in range(2, _MOST_DECIMALS):
        if math.isclose(round(needed, decimals), needed, abs_tol=1e-9):
            break
    else:
        decimals = _MOST_DECIMALS
    up = math.ceil(needed * 10**decimals - 1e-9 * 10**decimals) / 10**decimals
    return f"{up:.{decimals}f}", rounded_down(level, decimals)
