"""Cut a long text to a few lines of a terminal, and say how much is left out. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from cortex.text import wrapped


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
