"""What code displayed, as the person and the model may see it: texts redacted first, then drawings rendered, so that no
secret is drawn into a picture, where it could not be found any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

import anyio

from cortex.tools import cut
from sandbox import Displayed, JsonLimits, NotRendered, Running, bounded_json, display_note, render_svg, table_text

MAX_RENDERING_S = 10.0
"""For all drawings of one run."""
MAX_TEXT_BYTES = 2_048
"""Of one display, in the text that the model reads."""
MAX_LINES_BYTES = 6_144
_TABLE_LIMITS = JsonLimits(containers=20_000, values=40_000)

Redact = Callable[[str], Awaitable[str]]


async def shown_displays(
    displayed: Sequence[Displayed], redact: Redact, running: Running | None = None
) -> tuple[Displayed, ...]:
    """The displays without secrets, and with pictures in place of drawings. The processes that render them are noted
    in `running`. Never raises for what the displays hold."""
    give_up = anyio.current_time() + MAX_RENDERING_S
    noted = running or Running()
    return tuple([await _shown(item, redact, give_up, noted) for item in displayed])


async def _shown(item: Displayed, redact: Redact, give_up: float, running: Running) -> Displayed:
    title = await redact(item.title) if item.title else ""
    if item.is_file:
        return replace(item, data=await _redacted(item, redact), title=title)
    text = await redact(item.text)
    match item.type:
        case "svg":
            return await _rendered(text, title, give_up, running)
        case "table" if not _is_table(text):
            # A number became a token, and the text is no JSON any more.
            rows = await redact(table_text(item.rows))
            return Displayed("markdown", "text/markdown", rows.encode(errors="replace"), title)
    return replace(item, data=text.encode(errors="replace"), title=title)


async def _redacted(item: Displayed, redact: Redact) -> bytes:
    """The bytes; of a blob that is text, without secrets."""
    try:
        text = item.data.decode() if item.type == "blob" else ""
    except UnicodeDecodeError:
        return item.data
    return (await redact(text)).encode(errors="replace") if text else item.data


def _is_table(text: str) -> bool:
    try:
        return isinstance(bounded_json(text.encode(errors="replace"), _TABLE_LIMITS), list)
    except ValueError:
        return False


async def _rendered(drawing: str, title: str, give_up: float, running: Running) -> Displayed:
    left_s = give_up - anyio.current_time()
    if left_s <= 0:
        return display_note(f"A drawing was not shown: those before it took {MAX_RENDERING_S:g} s to render", title)
    try:
        picture = await render_svg(drawing, timeout_s=min(left_s, 5.0), running=running)
    except NotRendered as error:
        return display_note(f"An SVG drawing was not shown: {error}", title)
    return Displayed("image", "image/png", picture, title)


def display_lines(shown: Sequence[Displayed]) -> str:
    """What the model is told of the displays, below the reply: pictures by their size, texts themselves, not all of a
    long one. Empty without displays."""
    if not shown:
        return ""
    lines = "\n".join(_line(item) for item in shown)
    return f"\n{cut(lines, MAX_LINES_BYTES)}"


def _line(item: Displayed) -> str:
    title = f' "{item.title}"' if item.title else ""
    match item.type:
        case "image":
            width, height = item.size or (0, 0)
            return f"[displayed{title}: {item.mime_type}, {width} × {height} pixels]"
        case "audio" | "blob":
            return f"[displayed{title}: {item.mime_type}, {len(item.data)} bytes]"
        case "table":
            return f"[displayed{title}: a table]\n{cut(table_text(item.rows), MAX_TEXT_BYTES)}"
        case "note":
            return f"[not displayed{title}: {item.text}]"
        case _:
            return f"[displayed{title}: Markdown]\n{cut(item.text, MAX_TEXT_BYTES)}"
