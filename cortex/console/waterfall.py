"""The course of a run as rows: its parts, calls and requests as bars on one scale of time, and what the code printed
between them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cortex.views import RunLog, RunSpan, interleaved

from .plots import element

WIDTH, HEIGHT = 1000, 10
_LEAST = 4.0
"""The width of a bar that is shorter than can be seen."""
FEW_ROWS = 100


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    at_ms: float | None
    span: RunSpan | None
    log: RunLog | None
    bar: Markup


@dataclass(frozen=True, slots=True)
class Waterfall:
    rows: tuple[WaterfallRow, ...]
    left_out: int
    """Rows that are not shown."""
    total_ms: float
    """The length of the scale."""


def waterfall(spans: Sequence[RunSpan], logs: Sequence[RunLog], *, most: int = FEW_ROWS) -> Waterfall:
    """At most so many rows, in the order in which they began."""
    total = max((span.start_ms + span.ms for span in spans), default=0.0)
    both = interleaved(spans, logs)
    rows = [
        WaterfallRow(one.at_ms, None, one, Markup(""))
        if isinstance(one, RunLog)
        else WaterfallRow(one.start_ms, one, None, bar(one, total))
        for one in both[:most]
    ]
    return Waterfall(tuple(rows), max(0, len(both) - most), total)


def bar(span: RunSpan, total_ms: float) -> Markup:
    """The time of the span on a scale that begins with the run; hatched where it was the owner who was asked."""
    share = WIDTH / total_ms if total_ms > 0 else 0.0
    wide = min(float(WIDTH), max(_LEAST, span.ms * share))
    x = min(WIDTH - wide, max(0.0, span.start_ms * share))
    parts = [element("rect", class_="scale", x=0, y=4, width=WIDTH, height=2)]
    state = span.kind if span.ok else "bad"
    parts.append(element("rect", class_=f"span {state}", x=round(x, 1), y=0, width=round(wide, 1), height=HEIGHT))
    if span.asked_ms:
        asked = min(wide, span.asked_ms * share)
        parts.append(element("rect", class_="asked", x=round(x, 1), y=0, width=round(asked, 1), height=HEIGHT))
    words = f"from {span.start_ms:.1f} ms, for {span.ms:.1f} ms"
    return element(
        "svg",
        Markup("").join([element("title", words), *parts]),
        class_="lane",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
    )
