"""Lines of JSON on the pipe. `deno/protocol.ts` is the other half; `deno/testdata/` holds both to their word.

Everything that is read here was written by the agent's code or could have been: size and complexity are checked
before parsing, and a line that is not exactly a frame ends the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from pydantic_core import PydanticSerializationError, from_json, to_json

from .contracts import LogLevel
from .errors import MalformedFrame

PROTOCOL = 1

# Two megabytes of `{},` become fifty of dictionaries, and take as long: objects are counted before they are made.
# Brackets in texts count too: telling them apart would cost more than it protects.
MAX_OBJECTS_IN_FRAME = 50_000
# A call's id is echoed in its answer, and its name in messages.
MAX_CALL_ID = 32
MAX_TOOL_NAME = 256

Phase = Literal["compile", "run", "return"]


@dataclass(frozen=True, slots=True)
class Ready:
    protocol: int
    deno: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    call_id: str
    name: str
    params: Any


@dataclass(frozen=True, slots=True)
class Output:
    level: LogLevel
    data: str


@dataclass(frozen=True, slots=True)
class Debug:
    message: str


@dataclass(frozen=True, slots=True)
class Result:
    value: Any


@dataclass(frozen=True, slots=True)
class CutResult:
    """The beginning of a result's JSON text, when the guest found it too long to send."""

    text: str
    original_bytes: int


@dataclass(frozen=True, slots=True)
class Failure:
    phase: Phase
    name: str
    message: str
    stack: str


GuestFrame = Ready | ToolCall | Output | Debug | Result | CutResult | Failure

_FIELDS: dict[str, tuple[type[GuestFrame], dict[str, type | tuple[str, ...]]]] = {
    "__ready__": (Ready, {"protocol": int, "deno": str}),
    "__tool_call__": (ToolCall, {"call_id": str, "name": str, "params": object}),
    "__output__": (Output, {"level": get_args(LogLevel), "data": str}),
    "__debug__": (Debug, {"message": str}),
    "__result__": (Result, {"value": object}),
    "__error__": (Failure, {"phase": get_args(Phase), "name": str, "message": str, "stack": str}),
}
_CUT_RESULT: dict[str, type | tuple[str, ...]] = {"text": str, "original_bytes": int}

# JSON has no infinity, but it can spell a number that is one for Python.
_HUGE_NUMBER = re.compile(rb"[0-9][eE]\+?[0-9]{3}|(?<![0-9])[0-9]{200}")


def encode(value: Any) -> bytes:
    """The value as JSON. NaN and infinity, which JSON lacks, are null. Raises ValueError for what is not JSON."""
    try:
        return to_json(value, inf_nan_mode="null")
    except (PydanticSerializationError, RecursionError) as error:
        raise ValueError(str(error)) from error


def run_frame(
    code: str,
    context_json: bytes,
    tools: Sequence[Mapping[str, Any]],
    max_result_bytes: int,
    max_output_bytes: int,
) -> bytes:
    # The context may be megabytes and is JSON already: it is put in, not encoded a second time.
    head = b'{"type":"__run__","code":%b,"context":%b,' % (encode(code), context_json)
    rest = encode({"tools": tools, "max_result_bytes": max_result_bytes, "max_output_bytes": max_output_bytes})
    return head + rest[1:] + b"\n"


def rehearse_frame(*codes: str) -> bytes:
    """Runs for the process to do before it says that it is ready."""
    runs = (run_frame(code, b'{"a":[1]}', [{"path": ["a", "b"], "name": "a.b"}], 64, 64) for code in codes)
    return b'{"type":"__rehearse__","runs":[%b]}\n' % b",".join(run.rstrip() for run in runs)


def tool_result_frame(call_id: str, result_json: bytes) -> bytes:
    return b'{"type":"__tool_result__","call_id":%b,"result":%b}\n' % (encode(call_id), result_json)


def tool_error_frame(call_id: str, error: str, code: str, *, retryable: bool) -> bytes:
    frame = {
        "type": "__tool_error__",
        "call_id": call_id,
        "error": error,
        "code": code,
        "retryable": retryable,
    }
    return encode(frame) + b"\n"


def decode(line: bytes) -> GuestFrame:
    """One line as a frame. Raises MalformedFrame for everything that is not exactly one."""
    if line.count(b"{") + line.count(b"[") > MAX_OBJECTS_IN_FRAME:
        raise MalformedFrame("a frame of too many objects")
    try:
        frame = from_json(line, allow_inf_nan=False)
        if _HUGE_NUMBER.search(line):
            frame = from_json(to_json(frame, inf_nan_mode="null"))
    except (ValueError, RecursionError) as error:
        raise MalformedFrame("a line that is not JSON") from error
    if not isinstance(frame, dict):
        raise MalformedFrame("a line that is not an object")
    return _typed(frame)


def _typed(frame: dict[str, Any]) -> GuestFrame:
    name = frame.pop("type", None)
    if not isinstance(name, str) or name not in _FIELDS:
        raise MalformedFrame("a frame of unknown type")
    make, fields = _FIELDS[name]
    if make is Result and "value" not in frame:
        make, fields = CutResult, _CUT_RESULT
    if frame.keys() != fields.keys():
        raise MalformedFrame(f"a {name} frame with wrong fields")
    for key, kind in fields.items():
        value = frame[key]
        fits = value in kind if isinstance(kind, tuple) else isinstance(value, kind)
        if not fits or (kind is int and isinstance(value, bool)):
            raise MalformedFrame(f"a {name} frame with a wrong {key}")
    typed = make(**frame)
    if isinstance(typed, ToolCall) and (len(typed.call_id) > MAX_CALL_ID or len(typed.name) > MAX_TOOL_NAME):
        raise MalformedFrame("a tool call with a long name")
    return typed


class FrameReader:
    """Cuts what was read into lines, and refuses a line that grows beyond the limit before it is whole."""

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._pieces: list[bytes] = []
        self._pending = 0

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Yield the lines that the chunk completes."""
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._check(end - start)
            line = chunk[start:end]
            if self._pieces:
                line = b"".join((*self._pieces, line))
                self._pieces.clear()
                self._pending = 0
            start = end + 1
            yield line
        if start < len(chunk):
            self._check(len(chunk) - start)
            self._pieces.append(chunk[start:])
            self._pending += len(chunk) - start

    def _check(self, more: int) -> None:
        if self._pending + more > self._max_frame_bytes:
            raise MalformedFrame(f"a frame of more than {self._max_frame_bytes} bytes")
