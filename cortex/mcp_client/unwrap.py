"""Unwrap the answer of an MCP tool to one JSON value for code: the structured content, or else its images, sounds and
blobs with their bytes, or else its text parsed as JSON, or else its text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic_core import to_json

from cortex.mcp_wire import MESSAGE_LIMITS
from sandbox import ReadyJson, ToolError, bounded_json

MAX_ERROR_CHARACTERS = 2_000
# The SDK checks each part against each kind of part: 16 µs for a part that matches none.
MAX_PARTS = 5_000
_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def unwrapped(answer: Mapping[str, Any], tool: str, max_bytes: int) -> ReadyJson:
    """The value as JSON. Raises ToolError for an error (`tool_failed`), for a result that is too large, and for a
    question instead of an answer."""
    if answer.get("resultType") == "input_required":
        raise ToolError(f'Tool "{tool}" asks a person for more, which is not supported here', code="input_required")
    parts = answer.get("content") or ()
    if answer.get("isError"):
        raise ToolError(_error(parts, answer.get("structuredContent"), tool), code="tool_failed")
    structured = answer.get("structuredContent")
    if structured is None:
        # Checked before the base64 is read: it may be much larger than the limit.
        _check_size(sum(_media_size(part) for part in parts[:MAX_PARTS]), tool, max_bytes)
        media = [_media(part) for part in parts[:MAX_PARTS]]
        if any(media):
            return _with_media(parts, media, tool, max_bytes)
    texts = [] if structured is not None else list(_texts(parts))
    # Checked before the texts are copied: they may be much larger than the limit.
    _check_size(sum(map(len, texts)), tool, max_bytes)
    data = to_json(structured, inf_nan_mode="null") if structured is not None else _json(texts)
    _check_size(len(data), tool, max_bytes)
    return ReadyJson(data)


def _media_size(part: Mapping[str, Any]) -> int:
    match part:
        case {"type": "image" | "audio", "data": str(data)} | {"type": "resource", "resource": {"blob": str(data)}}:
            return len(data)
    return 0


def _media(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """An image, sound or blob for code; None for any other part, and for one whose base64 is damaged."""
    match part:
        case {"type": "image" | "audio" as kind, "data": str(data), **rest}:
            media = {"type": kind, "mimeType": _short(rest.get("mimeType")), "data": data}
        case {"type": "resource", "resource": {"blob": str(data), **rest}}:
            mime_type, uri = _short(rest.get("mimeType")), _short(rest.get("uri"))
            media = {"type": "blob", "mimeType": mime_type, "uri": uri, "data": data}
        case _:
            return None
    return media if _is_base64(data) else None


def _is_base64(data: str) -> bool:
    end = data[-2:].rstrip("=")
    # Ten times as fast as a pattern.
    return len(data) % 4 == 0 and data.isascii() and not (data[:-2] + end).encode().translate(None, _BASE64)


def _with_media(
    parts: Sequence[Mapping[str, Any]], media: Sequence[dict[str, Any] | None], tool: str, max_bytes: int
) -> ReadyJson:
    """The only part itself, or all parts in a list: those with bytes, and texts as `{ type: "text", text }`."""
    found = [
        given or {"type": "text", "text": "".join(_texts([part]))} for part, given in zip(parts, media, strict=False)
    ]
    _check_size(sum(len(part.get("data") or part.get("text", "")) for part in found), tool, max_bytes)
    is_alone = len(found) == 1
    data = to_json(found[0] if is_alone else found)
    _check_size(len(data), tool, max_bytes)
    places: list[tuple[str | int, ...]] = [(at, "data") for at, part in enumerate(found) if "data" in part]
    return ReadyJson(data, (("data",),) if is_alone else tuple(places))


def _check_size(size: int, tool: str, max_bytes: int) -> None:
    if size > max_bytes:
        message = f'Tool "{tool}" answered with {size} bytes, more than {max_bytes}: ask it for less at a time'
        raise ToolError(message, code="result_too_large")


def _json(texts: list[str]) -> bytes:
    if not texts:
        return b"null"
    if len(texts) == 1 and (data := _json_text(texts[0])) is not None:
        return data
    return to_json("\n".join(texts))


def _json_text(text: str) -> bytes | None:
    """The text as JSON, if it is an object or an array. A number stays a text: it may be a version, and 1.10 is not
    1.1. JSON that is too complex to be checked here stays a text, which code can parse."""
    text = text.strip()
    if not text.startswith(("{", "[")):
        return None
    try:
        # As bytes: to parse a string, Python would keep its UTF-8 bytes beside it.
        data = text.encode()
        bounded_json(data, MESSAGE_LIMITS)
        return data
    except ValueError:
        return None


def _texts(parts: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    """Each part as a text. Other parts, like images, are only described."""
    for number, part in enumerate(parts):
        if number == MAX_PARTS:
            yield "[more parts are left out]"
            return
        match part:
            case {"type": "text", "text": str(text)}:
                yield text
            case {"type": "image" | "audio" as kind, "data": str(data)}:
                yield f"[{kind} {_short(part.get('mimeType'))}, about {len(data) * 3 // 4} bytes]"
            case {"type": "resource", "resource": {"text": str(text)}}:
                yield text
            case {"type": "resource", "resource": {"blob": str(data), **rest}}:
                where = f"{_short(rest.get('uri'))} {_short(rest.get('mimeType'))}"
                yield f"[resource {where}, about {len(data) * 3 // 4} bytes]"
            case {"type": "resource_link", **rest}:
                yield f"[resource {_short(rest.get('uri'))} {_short(rest.get('mimeType'))}]"
            case _:
                yield f"[{_short(part.get('type'))}]"


def _short(value: Any) -> str:
    return str(value)[:200] if value is not None else "of unknown type"


def _error(parts: Any, structured: Any, tool: str) -> str:
    text = "\n".join(_texts(parts)).strip()
    if not text and structured is not None:
        text = to_json(structured, inf_nan_mode="null").decode()
    if not text:
        return f'Tool "{tool}" failed and does not say why'
    return text if len(text) <= MAX_ERROR_CHARACTERS else text[: MAX_ERROR_CHARACTERS - 1] + "…"
