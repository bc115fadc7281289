"""Makes the HTML of pages. Every text that is put into a page is escaped, and has its invisible and misleading
characters spelled out, whether or not the page asked for that.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from cortex.energy import rounded_down
from cortex.text import beginning, bounded, local_time, visible, visible_code, whole

FOLDER = Path(__file__).parent
MAX_TEXT = 32_768
"""Characters of one text on a page. The rest is behind a download."""
MAX_SHORT = 300


def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        said=said,
        name=name,
        code=code,
        when=when,
        ago=ago,
        amount=amount,
        level=rounded_down,
        took=took,
        size=size,
        capitalized=lambda text: text[:1].upper() + text[1:],
    )
    return made


def shown(value: Any) -> Any:
    """The value as it may stand in HTML. Texts of our own pass unchanged; those of others lose what hides in them."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, float):
        return f"{value:.4g}"
    return visible(whole(value)) if isinstance(value, str) else value


def said(text: object, most: int = MAX_SHORT) -> Markup:
    """A text of an agent, a server or a file on one line. It cannot change the direction of what is around it."""
    line = " ".join(beginning(whole(str(text)), 4 * most).split())
    return Markup("<bdi>{}</bdi>").format(visible(beginning(line, most)))


def name(text: object, most: int = MAX_SHORT) -> Markup:
    """A name that an agent chose: letters that look like others are spelled out, as in code."""
    line = visible_code(beginning(whole(str(text)), most)).replace("\n", "\\n")
    return Markup("<bdi>{}</bdi>").format(line)


def code(text: object, most: int = MAX_TEXT) -> Markup:
    """A long text with its lines, for a <pre>."""
    return Markup("<bdi>{}</bdi>").format(visible_code(bounded(whole(str(text)), most)))


def when(seconds: float | None, form: str = "%Y-%m-%d %H:%M:%S") -> Markup:
    """A local time, with UTC in its title."""
    if seconds is None:
        return Markup("")
    try:
        utc = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        return Markup("an unknown time")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(utc, utc, local_time(seconds, form))


def ago(seconds: float) -> str:
    """A span in the largest unit that fits."""
    seconds = max(0.0, seconds)
    for unit, word in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.0f} {word}"
    return f"{seconds:.0f} s"


def amount(number: float) -> str:
    """Energy without the dust of floating point: 0.002, not 0.0020000000000000018."""
    return f"{round(number, 4):.4f}".rstrip("0").rstrip(".") or "0"


def took(ms: float | None) -> str:
    if ms is None:
        return ""
    return f"{ms:.1f} ms" if ms < 100 else f"{ms:.0f} ms" if ms < 10_000 else f"{ms / 1000:.1f} s"


def size(count: int | None) -> str:
    if count is None:
        return ""
    return (
        f"{count} B"
        if count < 1_024
        else f"{count / 1_024:.1f} KiB"
        if count < 1_048_576
        else f"{count / 1_048_576:.1f} MiB"
    )


def attributes(values: Mapping[str, object]) -> Markup:
    """Attributes of an SVG element."""
    return Markup(" ").join(
        Markup('{}="{}"').format(key.replace("_", "-"), escape(shown(value))) for key, value in values.items()
    )
