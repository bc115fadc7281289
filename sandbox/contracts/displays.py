"""What code displays to the person and the model, and the judgement of a display frame, which may be forged. Pure."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .errors import MalformedFrame
from .json_meter import JsonLimits, bounded_json

if TYPE_CHECKING:
    from .frames import DisplayCall

DisplayType = Literal["image", "svg", "table", "markdown", "audio", "blob", "note"]

# More than is shown of a title: a secret must be whole to be found, and is looked for before the title is cut.
MAX_TITLE_CHARACTERS = 1_000
# A picture of a few kilobytes may claim to have more pixels than a viewer has memory for.
MAX_PIXELS = 16_000_000
# More than cameras write; a hostile picture may have half a million before its size.
MAX_JPEG_SEGMENTS = 1_000
MAX_ROWS = 1_000
MAX_COLUMNS = 50
MAX_CELL_CHARACTERS = 1_000
MAX_TABLE_BYTES = 65_536
"""Of a table as text. A thousand empty rows of fifty columns are a few kilobytes of JSON and much more as text."""
# 20,000 numbers of the most digits that honest ones have. Reading a number of 4,000 digits takes as long as 500 others.
_TABLE_LIMITS = JsonLimits(containers=20_000, values=40_000, digits=500_000)

_MIME_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,59}/[a-z0-9][a-z0-9.+-]{0,59}", re.ASCII)
_BEFORE_BASE64 = ";base64,"
_MAX_MIME_TYPE = 2 * 60 + 1

_MIME_TYPES = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "svg": "image/svg+xml",
    "table": "application/json",
    "markdown": "text/markdown",
}
# The last chunk of a PNG picture, and the last marker of a JPEG picture.
_ENDS = {"image/png": b"IEND\xaeB`\x82", "image/jpeg": b"\xff\xd9"}
_TYPES: dict[str, DisplayType] = {
    "png": "image",
    "jpeg": "image",
    "svg": "svg",
    "table": "table",
    "markdown": "markdown",
}


@dataclass(frozen=True, slots=True)
class Displayed:
    """One thing that code displays. A drawing (`svg`) is text until it is rendered; a note is the host's own word about
    something that cannot be shown. A sound (`audio`) and a `blob` are files of their type."""

    type: DisplayType
    mime_type: str
    data: bytes
    """The picture, sound or blob, or text in UTF-8: of a drawing, Markdown, a note, or rows as JSON."""
    title: str = ""

    @property
    def label(self) -> dict[str, str]:
        """What it is, without the data, as JSON names it: the spelling is that of MCP."""
        return {"type": self.type, "mimeType": self.mime_type, "title": self.title}

    @property
    def text(self) -> str:
        """The data as text; empty for a picture, sound or blob."""
        return "" if self.is_file else self.data.decode(errors="replace")

    @property
    def is_file(self) -> bool:
        """Whether the data is a file of its own: a picture, sound or blob."""
        return self.type in {"image", "audio", "blob"}

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows of a table; empty for anything else."""
        return _rows(self.text) if self.type == "table" else []

    @property
    def has_rows(self) -> bool:
        """Whether `rows` can be read: a table whose text was changed may be no JSON any more."""
        try:
            return self.type == "table" and isinstance(self.rows, list)
        except MalformedFrame:
            return False

    @property
    def size(self) -> tuple[int, int] | None:
        """Width and height in pixels, if it is a picture."""
        return picture_size(self.data) if self.type == "image" else None


def display_note(text: str, title: str = "") -> Displayed:
    return Displayed("note", "text/plain", text.encode(errors="replace"), title)


def displayed(call: DisplayCall) -> Displayed:
    """What the frame displays; a note where honest code may have sent what cannot be shown. Raises MalformedFrame for
    what only a forged frame can hold."""
    title = _title(call.title)
    if call.kind in ("audio", "blob"):
        return _media(call.kind, call.data, title)
    if call.kind not in {"png", "jpeg"}:
        if call.kind == "table":
            _rows(call.data)
        return Displayed(_TYPES[call.kind], _MIME_TYPES[call.kind], call.data.encode(errors="replace"), title)
    data = _bytes(call.data)
    if picture_type(data) != _MIME_TYPES[call.kind]:
        raise MalformedFrame("a display of a picture that is none")
    return shown_picture(data, title)


def _title(given: str) -> str:
    # The mark tells the search for secrets that the last word may be half of one.
    return given if len(given) <= MAX_TITLE_CHARACTERS else f"{given[: MAX_TITLE_CHARACTERS - 1]}…"


def shown_picture(data: bytes, title: str = "") -> Displayed:
    """A PNG or JPEG picture as it is shown; a note for one that no viewer could show, or only with too much memory. A
    model's endpoint refuses the whole request that has a damaged picture in it."""
    kind, size = picture_type(data), picture_size(data)
    if kind is None or size is None:
        return display_note("A picture was not shown: its size cannot be read", title)
    if not 0 < size[0] * size[1] <= MAX_PIXELS:
        return display_note(
            f"A picture was not shown: {size[0]} × {size[1]} pixels are more than {MAX_PIXELS}, or none", title
        )
    if _ENDS[kind] not in data:
        return display_note("A picture was not shown: its end is missing", title)
    return Displayed("image", kind, data, title)


def _media(kind: Literal["audio", "blob"], data: str, title: str) -> Displayed:
    at = data.find(_BEFORE_BASE64, 0, _MAX_MIME_TYPE + len(_BEFORE_BASE64))
    mime_type = data[: max(at, 0)]
    if _MIME_TYPE.fullmatch(mime_type) is None or (kind == "audio" and not mime_type.startswith("audio/")):
        raise MalformedFrame("a display of bytes without their type")
    found = _bytes(data[at + len(_BEFORE_BASE64) :])
    if picture_type(found) is not None:
        raise MalformedFrame("a display of a picture as something else")
    return Displayed(kind, mime_type, found, title)


def _bytes(text: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise MalformedFrame("a display whose base64 is damaged") from error


def _rows(text: str) -> list[dict[str, Any]]:
    try:
        rows = bounded_json(text.encode(), _TABLE_LIMITS)
    except (ValueError, RecursionError) as error:
        raise MalformedFrame("a display of rows that cannot be read") from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise MalformedFrame("a display of rows that are no objects")
    return rows


def picture_type(data: bytes) -> str | None:
    """The MIME type of a PNG or JPEG picture, from its first bytes; None for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    return "image/jpeg" if data.startswith(b"\xff\xd8\xff") else None


def picture_size(data: bytes) -> tuple[int, int] | None:
    """Width and height as the header of a PNG or JPEG picture states them; None if it has none."""
    match picture_type(data):
        case "image/png" if data[12:16] == b"IHDR" and len(data) >= 24:
            return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
        case "image/jpeg":
            return next(_jpeg_sizes(data), None)
    return None


def _jpeg_sizes(data: bytes) -> Iterator[tuple[int, int]]:
    at = 2
    for _ in range(MAX_JPEG_SEGMENTS):
        if at + 9 > len(data) or data[at] != 0xFF:
            return
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        # Those of a frame; C4, C8 and CC are tables.
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            yield int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 2 + max(length, 2)


def table_text(rows: list[dict[str, Any]], max_bytes: int = MAX_TABLE_BYTES) -> str:
    """The rows as a Markdown table, at most MAX_ROWS rows, MAX_COLUMNS columns and MAX_CELL_CHARACTERS in a cell, and
    at most one row more than `max_bytes`; a last line says how many rows and columns there are where some are left
    out."""
    names = list(dict.fromkeys(name for row in rows[:MAX_ROWS] for name in row))
    kept = names[:MAX_COLUMNS]
    if not kept:
        return "(an empty table)"
    lines = [_line(kept), _line(["---"] * len(kept))]
    left = max_bytes - sum(len(line.encode(errors="replace")) + 1 for line in lines)
    shown = 0
    for row in rows[:MAX_ROWS]:
        if left <= 0:
            break
        line = _line([row.get(name) for name in kept])
        left -= len(line.encode(errors="replace")) + 1
        lines.append(line)
        shown += 1
    if len(rows) > shown or len(names) > len(kept):
        lines.append(f"… of {len(rows)} rows and {len(names)} columns")
    return "\n".join(lines)


def _line(cells: list[Any]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case dict() | list():
            from pydantic_core import to_json  # noqa: PLC0415 - few cells hold more than a word

            value = to_json(value, inf_nan_mode="null").decode()
    text = str(value)
    cut = "…" if len(text) > MAX_CELL_CHARACTERS else ""
    return " ".join(text[:MAX_CELL_CHARACTERS].split()).replace("|", "\\|") + cut
