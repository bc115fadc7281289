"""Pictures of numbers as SVG: made on the server, without scripts and without styles in them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cortex.text import local_time
from cortex.views import ActivityPart, EnergyView, Point, course, expected

from .templating import amount, attributes

WIDTH, HEIGHT = 720, 168
_LEFT, _RIGHT, _TOP, _BOTTOM = 34, 10, 10, 22
SPARK_WIDTH, SPARK_HEIGHT = 144, 24


def element(name: str, content: Markup | str = "", **values: object) -> Markup:
    """An SVG element; `class_` is its class."""
    named = {key.rstrip("_"): value for key, value in values.items()}
    tag = Markup(name)  # noqa: S704 - one of the names in this module
    return Markup("<{} {}>{}</{}>").format(tag, attributes(named), content, tag)


@dataclass(frozen=True, slots=True)
class Frame:
    """Turns times and levels into places of the picture."""

    since: float
    until: float

    def x(self, at: float) -> float:
        share = (at - self.since) / max(self.until - self.since, 1e-9)
        return round(_LEFT + min(1.0, max(0.0, share)) * (WIDTH - _LEFT - _RIGHT), 1)

    def y(self, level: float) -> float:
        return round(_TOP + (1 - min(1.0, max(0.0, level))) * (HEIGHT - _TOP - _BOTTOM), 1)

    def line(self, points: Sequence[Point]) -> str:
        return " ".join(f"{self.x(point.at)},{self.y(point.level)}" for point in points)


def energy_plot(view: EnergyView, past_s: float) -> Markup:
    """The level over time, with the floors of the tiers, and dashed what it will be if nothing is spent."""
    ahead_s = past_s / 4
    frame = Frame(view.at - past_s, view.at + ahead_s)
    points, coming = course(view, frame.since), expected(view, frame.until)
    bottom = HEIGHT - _BOTTOM
    area = f"{frame.x(points[0].at)},{bottom} {frame.line(points)} {frame.x(view.at)},{bottom}"
    parts = [
        element("polygon", class_="area", points=area),
        *(_mark(frame, level) for level in (0.0, 0.5, 1.0)),
        *(_floor(frame, tier.tier.value, max(tier.floor, tier.cost)) for tier in view.seen.tiers),
        element("polyline", class_="course", points=frame.line(points)),
        element("polyline", class_="coming", points=frame.line(coming)),
        element("line", class_="now", x1=frame.x(view.at), x2=frame.x(view.at), y1=_TOP, y2=bottom),
        *_times(frame, view.at, past_s),
    ]
    words = f"Energy over the last {_span(past_s)}: {amount(view.level)} now"
    return element(
        "svg",
        Markup("").join([element("title", words), *parts]),
        class_="plot",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )


def _floor(frame: Frame, tier: str, level: float) -> Markup:
    y = frame.y(level)
    line = element("line", class_="floor", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y)
    return line + element(
        "text", f"{tier} from {amount(level)}", class_="floor-name", x=WIDTH - _RIGHT, y=y - 4, text_anchor="end"
    )


def _mark(frame: Frame, level: float) -> Markup:
    y = frame.y(level)
    line = element("line", class_="grid", x1=_LEFT, x2=WIDTH - _RIGHT, y1=y, y2=y)
    return line + element("text", f"{level:g}", class_="mark", x=_LEFT - 6, y=y + 4, text_anchor="end")


def _times(frame: Frame, now: float, past_s: float) -> list[Markup]:
    form = "%H:%M"
    marks = [(frame.since, "start"), (now - past_s / 2, "middle"), (now, "middle"), (frame.until, "end")]
    return [
        element("text", local_time(at, form), class_="mark", x=frame.x(at), y=HEIGHT - 6, text_anchor=anchor)
        for at, anchor in marks
    ]


def _span(seconds: float) -> str:
    return f"{seconds / 3600:g} hours" if seconds >= 3600 else f"{seconds / 60:g} minutes"


def sparkline(values: Sequence[float], words: str) -> Markup:
    """Small bars, as high as their share of the highest."""
    return _bars(values, ["spent" if value > 0 else "rest" for value in values], words)


def activity_line(parts: Sequence[ActivityPart]) -> Markup:
    """A bar for the signals of each part of the day, in another colour where an answer failed or something was said."""
    kinds = [
        "failed" if part.errors else "said" if part.emitted else "spent" if part.signals else "rest" for part in parts
    ]
    signals, emitted, errors = (sum(getattr(part, name) for part in parts) for name in ("signals", "emitted", "errors"))
    words = f"In the last day: {signals} signals, {emitted} emitted, {errors} errors"
    return _bars([part.signals for part in parts], kinds, words)


def _bars(values: Sequence[float], kinds: Sequence[str], words: str) -> Markup:
    most = max(values, default=0.0) or 1.0
    wide = SPARK_WIDTH / max(len(values), 1)
    bars = [
        element(
            "rect",
            x=round(at * wide, 2),
            y=round(SPARK_HEIGHT - 1 - high, 2),
            width=round(max(wide - 0.8, 0.8), 2),
            height=round(high + 1, 2),
            class_=kind,
        )
        for at, (value, kind) in enumerate(zip(values, kinds, strict=True))
        for high in [value / most * (SPARK_HEIGHT - 3)]
    ]
    return element(
        "svg",
        Markup("").join([element("title", words), *bars]),
        class_="spark",
        viewBox=f"0 0 {SPARK_WIDTH} {SPARK_HEIGHT}",
        role="img",
    )
