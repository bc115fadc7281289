"""The schedule that a habit suggests, by the times of its runs. Pure, and a module of its own: it parses no code."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, tzinfo
from itertools import pairwise
from statistics import median

_SPANS = ((5 * 60, "5m"), (15 * 60, "15m"), (30 * 60, "30m"), (3_600, "1h"), (6 * 3_600, "6h"))
_DAY_S = 86_400
_SPREAD = 0.35
"""How far from a span the gaps between two runs may be, as a share of it."""
_SPREAD_OF_DAY_S = 90 * 60
_ROUNDED_MIN = 5
_FRIDAY = 4


def suggested(times: Sequence[float], zone: tzinfo | None = None) -> str | None:
    """A schedule like `every 15m` or `at 09:00 mon-fri`; None if the times follow no clock. `zone` is the machine's by
    default, as it is for the schedules themselves."""
    seen = sorted(times)
    gaps = [later - sooner for sooner, later in pairwise(seen)]
    if len(gaps) < 2:
        return None
    middle = median(gaps)
    for span, text in _SPANS:
        if abs(middle - span) <= _SPREAD * span and all(gap <= 3 * span for gap in gaps):
            return f"every {text}"
    return _daily([datetime.fromtimestamp(at, zone) for at in seen], gaps)


def _daily(moments: list[datetime], gaps: list[float]) -> str | None:
    if len({moment.date() for moment in moments}) < len(moments) or max(gaps) > 4 * _DAY_S:  # over a weekend
        return None
    seconds = [moment.hour * 3_600 + moment.minute * 60 + moment.second for moment in moments]
    if max(seconds) - min(seconds) > _SPREAD_OF_DAY_S:
        return None
    minutes = round(median(seconds) / 60 / _ROUNDED_MIN) * _ROUNDED_MIN % (24 * 60)
    weekdays = {moment.weekday() for moment in moments}
    over_weekend = max(gaps) > 1.5 * _DAY_S
    days = " mon-fri" if over_weekend and max(weekdays) <= _FRIDAY else ""
    return f"at {minutes // 60:02}:{minutes % 60:02}{days}"
