"""What code displayed, as the person and the model may see it: texts redacted first, then drawings rendered, so that no
secret is drawn into a picture, where it could not be found any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import anyio
import anyio.lowlevel

from cortex.redaction import MAX_VALUE_CHARACTERS
from cortex.text import off_loop
from cortex.tools import cut
from sandbox import Displayed, NotRendered, Running, display_note, render_svg, table_text

MAX_RENDERING_S = 10.0
"""For all drawings of one run."""
MAX_REDACTING_S = 10.0
"""For all displays of one run. Two megabytes of addresses take about two seconds."""
MAX_MARKDOWN_CHARACTERS = 262_144
MAX_TITLE_CHARACTERS = 200
MAX_TEXT_BYTES = 2_048
"""Of one display, in the text that the model reads."""
MAX_LINES_BYTES = 6_144

Redact = Callable[[str], Awaitable[str]]


async def shown_displays(
    displayed: Sequence[Displayed], redact: Redact, running: Running | None = None
) -> tuple[Displayed, ...]:
    """The displays without secrets, and with pictures in place of drawings. The processes that render them are noted
    in `running`. Never raises for what the displays hold."""
    # Two clocks: the search for secrets is not at the expense of drawings.
    redacting_s, rendering_s = MAX_REDACTING_S, MAX_RENDERING_S
    noted = running or Running()
    shown = []
    for item in displayed:
        # Each may take a few milliseconds without a wait.
        await anyio.lowlevel.checkpoint()
        began, searched = anyio.current_time(), None
        with anyio.move_on_after(max(0.0, redacting_s)):
            searched = await _without_secrets(item, redact)
        redacting_s -= anyio.current_time() - began
        if searched is None:
            # Without its title, too: that was not searched either.
            searched = display_note(f"It was not shown: to look for secrets took more than {MAX_REDACTING_S:g} s")
        began = anyio.current_time()
        if searched.type == "svg":
            searched = await _rendered(searched.text, searched.title, rendering_s, noted)
        rendering_s -= anyio.current_time() - began
        shown.append(searched)
    return tuple(shown)


async def _without_secrets(item: Displayed, redact: Redact) -> Displayed:
    title = _title(await redact(item.title)) if item.title else ""
    if item.is_file:
        return replace(item, data=await _redacted(item, redact), title=title)
    text = await _beginning(item.text, redact) if item.type == "markdown" else await redact(item.text)
    shown = replace(item, data=text.encode(errors="replace"), title=title)
    if item.type == "table" and not await off_loop(len(text), lambda: shown.has_rows):
        # A number became a token, and the text is no JSON any more.
        rows = await redact(await off_loop(len(text), lambda: table_text(item.rows)))
        return Displayed("markdown", "text/markdown", rows.encode(errors="replace"), title)
    return shown


def _title(redacted: str) -> str:
    """The title in one line, not all of a long one."""
    title = " ".join(redacted.split())
    return title if len(title) <= MAX_TITLE_CHARACTERS else f"{title[: MAX_TITLE_CHARACTERS - 1]}…"


async def _beginning(text: str, redact: Redact) -> str:
    """The beginning of a text, redacted. What is searched is longer by the longest secret: half of one may not be
    recognized."""
    if len(text) <= MAX_MARKDOWN_CHARACTERS:
        return await redact(text)
    shown = await redact(text[: MAX_MARKDOWN_CHARACTERS + MAX_VALUE_CHARACTERS])
    return f"{shown[:MAX_MARKDOWN_CHARACTERS]}… [truncated: {len(text)} characters in all]"


async def _redacted(item: Displayed, redact: Redact) -> bytes:
    """The bytes; of a blob that is text, without secrets."""
    try:
        text = item.data.decode() if item.type == "blob" else ""
    except UnicodeDecodeError:
        return item.data
    return (await redact(text)).encode(errors="replace") if text else item.data


async def _rendered(drawing: str, title: str, left_s: float, running: Running) -> Displayed:
    if left_s <= 0:
        return display_note(f"A drawing was not shown: those before it took {MAX_RENDERING_S:g} s to render", title)
    try:
        picture = await render_svg(drawing, timeout_s=min(left_s, 5.0), running=running)
    except NotRendered as error:
        return display_note(f"An SVG drawing was not shown: {error}", title)
    return Displayed("image", "image/png", picture, title)


def display_lines(shown: Sequence[Displayed]) -> str:
    """What the model is told of the displays, below the reply: pictures by their size, texts themselves, not all of a
    long one. A line of a text begins with a bar: no text can pass for the host's own lines. Empty without displays."""
    if not shown:
        return ""
    lines = "\n".join(_line(item) for item in shown)
    return f"\n{cut(lines, MAX_LINES_BYTES)}"


def _line(item: Displayed) -> str:
    title = f' "{_title(item.title)}"' if item.title else ""
    match item.type:
        case "image":
            width, height = item.size or (0, 0)
            return f"[displayed{title}: {item.mime_type}, {width} × {height} pixels]"
        case "audio" | "blob":
            return f"[displayed{title}: {item.mime_type}, {len(item.data)} bytes]"
        case "table":
            return f"[displayed{title}: a table]\n{_barred(cut(table_text(item.rows, MAX_TEXT_BYTES), MAX_TEXT_BYTES))}"
        case "note":
            return f"[not displayed{title}: {' '.join(item.text.split())}]"
        case _:
            return f"[displayed{title}: Markdown]\n{_barred(cut(item.text, MAX_TEXT_BYTES))}"


def _barred(text: str) -> str:
    # The rows of a table have their bar already.
    return "\n".join(line if line.startswith("| ") else f"| {line}" for line in text.splitlines())
