"""Converts a tool's result to JSON, and cuts its text for the model."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json, to_json

from sandbox import ReadyJson, ToolError, says_outside_strings

if TYPE_CHECKING:
    from pydantic import TypeAdapter

log = logging.getLogger("motor_cortex")


def json_of(value: Any, adapter: TypeAdapter[Any], tool: str) -> ReadyJson:
    """The value as JSON text. NaN, which JSON lacks, becomes null. Raises ToolError for a value that is not JSON."""
    # Serialising would consume an iterator to its end, and it may be endless.
    if not isinstance(value, (Iterator, AsyncIterator)):
        try:
            return _strict(adapter.dump_json(value, by_alias=True, warnings=False))
        except Exception as error:
            log.warning('Tool "%s" returned what is not JSON', tool, exc_info=error)
            raise _not_json(value, tool) from error
    raise _not_json(value, tool)


def value_of(json: ReadyJson, tool: str) -> Any:
    """A new JSON value: later changes that the tool makes to its own objects do not show here."""
    try:
        return from_json(json.data)
    except ValueError as error:
        raise ToolError(f'Tool "{tool}" returned a value that is nested too deeply', code="internal") from error


def _strict(json: bytes) -> ReadyJson:
    # A type may be configured to write NaN as JavaScript does. Texts may contain these words, too.
    if says_outside_strings(json, b"NaN", b"Infinity"):
        json = to_json(from_json(json), inf_nan_mode="null")
    return ReadyJson(json)


def _not_json(value: Any, tool: str) -> ToolError:
    kind = type(value).__name__[:100]
    return ToolError(f'Tool "{tool}" returned a value that is not JSON, of the type {kind}', code="internal")


def cut(text: str, max_bytes: int, in_all: int | None = None) -> str:
    """The text, or as much of its beginning as fits with a mark that gives the full size. `in_all` is the size of a
    longer text of which this is only the beginning."""
    data = text.encode(errors="replace")
    if len(data) <= max_bytes and in_all is None:
        return data.decode()
    mark = f"… [truncated: {len(data) if in_all is None else in_all} bytes in all]"
    room = max(0, max_bytes - len(mark.encode()))
    return data[:room].decode(errors="ignore") + mark
