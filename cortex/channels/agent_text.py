"""Shows texts of the agent inside lines of ours, and makes the lines with a label. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from cortex.text import visible, visible_code

LABEL = 13
"""Width of the labels: a line with a hash fits into 80 columns."""


def one_line(text: str) -> str:
    """The agent's text on one line, to be shown inside a line of ours."""
    return visible(text.replace("\r\n", "\n")).replace("\n", "\\n").replace("\t", " ").strip()


def one_name(text: str) -> str:
    """A name that the agent chose, which may look like a host or a tool: shown as strictly as code."""
    return visible_code(text).replace("\n", "\\n")


def names(of: Sequence[str]) -> str:
    return ", ".join(map(one_name, of)) or "none"


def some(of: Sequence[str], most: int) -> str:
    """At most `most` of the names, as the end of a sentence: `a, b and 2 more`."""
    shown, more = [one_name(name) for name in of[:most]], len(of) - most
    if more > 0:
        return f"{', '.join(shown)} and {more} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def labelled(label: str, text: str) -> str:
    return f"  {label:{LABEL}} {text}"
