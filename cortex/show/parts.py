"""The parts from which the display of a turn is built: symbols, energy gauge, excerpts of long texts, phrases. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from cortex.energy import drawn, rounded_down
from cortex.text import has_symbols, wrapped

if TYPE_CHECKING:
    from cortex.contracts import RunCodeIntent
    from cortex.loop import Waiting
    from sandbox import Metrics


@dataclass(frozen=True, slots=True)
class Marks:
    run: str
    bar: str
    result: str
    refused: str
    note: str
    cut: str
    to: str
    full: str
    empty: str


SYMBOLS = Marks("▶", "│", "→", "✗", "·", "…", "→", "▰", "▱")
# No gauge in ASCII: a row of hashes says less than the number beside it.
ASCII = Marks(">", "|", "=", "!", "-", "...", "->", "", "")


def marks_for(stream: TextIO) -> Marks:
    """The symbols in front of lines: Unicode for terminals that have it, ASCII for everything else."""
    return SYMBOLS if has_symbols(stream) else ASCII


def gauge(level: float, marks: Marks, before: float | None = None) -> str:
    """Like `energy ▰▰▰▰▰▰▰▱▱▱ 0.70 → 0.65`: `before` is the earlier level, and the gauge draws the level now."""
    row = f"{drawn(level, marks.full, marks.empty)} " if marks.full else ""
    was = "" if before is None else f"{rounded_down(before)} {marks.to} "
    return f"energy {row}{was}{rounded_down(level)}"


def gauge_style(level: float) -> str:
    return "green" if level >= 0.5 else "yellow" if level >= 0.3 else "red"


@dataclass(frozen=True, slots=True)
class Excerpt:
    lines: list[str]
    left_out: str
    """Like "30 more lines"; empty when all is there."""
    source: str
    """The part of the text that the lines show."""


def excerpt(text: str, width: int, rows: int) -> Excerpt:
    """The first lines of the text, at most `rows`. No character in them can control the terminal."""
    source = text.replace("\r\n", "\n").strip("\n").split("\n")
    shown: list[str] = []
    for number, line in enumerate(source):
        room = rows - len(shown)
        # The rows hold no more than this, so the work is bounded, however long the line is.
        beginning = line[: room * (width + 1)]
        lines = wrapped(beginning, width)
        if room == 0 or len(lines) > room or len(beginning) < len(line):
            rest = len(source) - number
            is_last = rest == 1 and room > 0
            left_out = f"{len(text)} characters in all" if is_last else f"{rest} more line{'' if rest == 1 else 's'}"
            return Excerpt([*shown, *lines[:room]], left_out, "\n".join([*source[:number], beginning]))
        shown += lines
    return Excerpt(shown, "", "\n".join(source))


def purpose(intent: RunCodeIntent) -> str:
    return " ".join(intent.payload.purpose.split()) or "run code"


def limits(intent: RunCodeIntent) -> str:
    return f"{intent.payload.tier}, at most {intent.payload.timeout} ms"


def took(metrics: Metrics) -> str:
    if metrics.cached:
        return "from the cache, nothing ran"
    parts = [milliseconds(metrics.execution_ms)]
    if metrics.tool_calls:
        parts.append(f"{metrics.tool_calls} tool call{'' if metrics.tool_calls == 1 else 's'}")
    if metrics.fetches:
        size = f" ({metrics.fetched_bytes:,} bytes)" if metrics.fetched_bytes else ""
        parts.append(f"{metrics.fetches} fetch{'' if metrics.fetches == 1 else 'es'}{size}")
    return ", ".join(parts)


def milliseconds(duration: float) -> str:
    return f"{duration:.1f} ms" if duration < 1000 else f"{duration / 1000:.1f} s"


def waiting(event: Waiting, more: str) -> str:
    if not event.reason:
        return f"waiting for the model{more}"
    again = "" if event.again_in_s is None else f"; trying again in {event.again_in_s:.1f} s"
    return event.reason + again
