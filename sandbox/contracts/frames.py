"""Encodes and decodes frames: the lines of JSON on the pipe between the host and the Deno process.

`deno/protocol.ts` is the other half; tests on both sides use the same examples from `deno/testdata/`. Everything read
here may have been written by the agent's code: size and complexity are checked before parsing, and a line that is not
exactly a frame ends the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from pydantic_core import PydanticSerializationError, from_json, to_json

from .errors import MalformedFrame
from .json_meter import JsonLimits, TooComplex, bounded_json
from .lines import Line, LineSplitter
from .outcomes import LogLevel
from .tiers import Tier

PROTOCOL = 1

# JavaScript itself writes at most 21 digits in a row.
LIMITS = JsonLimits(containers=50_000, values=100_000, number=400)
# Maximum length of fields that the host repeats: a call's id in its answer, the others in messages.
_SHORT = {"call_id": 32, "name": 256, "method": 32, "operation": 32}

Phase = Literal["compile", "run", "return"]
Redirect = Literal["follow", "error", "manual"]
StoreOperation = Literal["get", "set", "delete", "keys"]
DisplayKind = Literal["png", "jpeg", "svg", "table", "markdown", "audio", "blob"]


@dataclass(frozen=True, slots=True)
class Ready:
    """The first frame: the process is ready, and says which protocol and Deno it has."""

    protocol: int
    deno: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a lent tool by the code."""

    call_id: str
    name: str
    params: Any


@dataclass(frozen=True, slots=True)
class Fetch:
    """A network request by the code. Not validated here: the broker decides whether it is sound and allowed."""

    call_id: str
    url: str
    method: str
    headers: list[Any]
    body: str | None
    """Base64."""
    redirect: Redirect


@dataclass(frozen=True, slots=True)
class FileCall:
    """A request by the code for a file of the workspace."""

    call_id: str
    operation: str
    params: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoreCall:
    """A request by the code for a value of its conversation's store."""

    call_id: str
    operation: StoreOperation
    key: str
    value: Any


@dataclass(frozen=True, slots=True)
class Abort:
    """The code no longer waits for the answer to a call."""

    call_id: str


@dataclass(frozen=True, slots=True)
class Output:
    """One call of `console`, or one direct write to stdout or stderr."""

    level: LogLevel
    data: str


@dataclass(frozen=True, slots=True)
class DisplayCall:
    """Something that the code shows to the person and the model. `displays.py` judges it."""

    kind: DisplayKind
    title: str
    data: str
    """Base64 for pictures, the text itself for drawings and Markdown, JSON text for rows; for sounds and blobs the MIME
    type before the base64, as in a data URL."""


@dataclass(frozen=True, slots=True)
class Debug:
    """A note from the harness to the host, such as "idle"."""

    message: str


@dataclass(frozen=True, slots=True)
class Varied:
    """The code used something nondeterministic, such as the clock: another run may give another result."""

    what: str


@dataclass(frozen=True, slots=True)
class Result:
    """The value that the code returned."""

    value: Any


@dataclass(frozen=True, slots=True)
class NoValue:
    """The code ended without a value."""


@dataclass(frozen=True, slots=True)
class CutResult:
    """The beginning of a result's JSON text, sent when the whole text exceeds the limit."""

    text: str
    original_bytes: int


@dataclass(frozen=True, slots=True)
class Failure:
    """The code failed: in which phase, and the JavaScript error."""

    phase: Phase
    name: str
    message: str
    stack: str


@dataclass(frozen=True, slots=True)
class Answered:
    """A resident process handled one signal of a batch: the signals it emitted and its new state."""

    batch: int
    at: int
    cpu_us: int
    """Microseconds that it computed, in the process's own words."""
    emitted: list[Any]
    state: dict[str, Any] | None
    """None when unchanged."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A resident process failed at one signal of a batch: the error."""

    batch: int
    at: int
    cpu_us: int
    phase: Phase
    name: str
    message: str
    stack: str


Call = ToolCall | Fetch | FileCall | StoreCall
"""A request by the code to the host. The code waits for the answer."""

GuestFrame = (
    Ready
    | Call
    | Abort
    | Output
    | DisplayCall
    | Debug
    | Varied
    | Result
    | NoValue
    | CutResult
    | Failure
    | Answered
    | Failed
)

# A field's type, or the strings it may be, or (type, None) for a field that may be null.
_Kind = type | tuple[str, ...] | tuple[type, None]

_FIELDS: dict[str, tuple[type[GuestFrame], dict[str, _Kind]]] = {
    "__ready__": (Ready, {"protocol": int, "deno": str}),
    "__tool_call__": (ToolCall, {"call_id": str, "name": str, "params": object}),
    "__fetch__": (
        Fetch,
        {
            "call_id": str,
            "url": str,
            "method": str,
            "headers": list,
            "body": (str, None),
            "redirect": get_args(Redirect),
        },
    ),
    "__file__": (FileCall, {"call_id": str, "operation": str, "params": dict}),
    "__store__": (
        StoreCall,
        {"call_id": str, "operation": get_args(StoreOperation), "key": str, "value": object},
    ),
    "__abort__": (Abort, {"call_id": str}),
    "__output__": (Output, {"level": get_args(LogLevel), "data": str}),
    "__display__": (DisplayCall, {"kind": get_args(DisplayKind), "title": str, "data": str}),
    "__debug__": (Debug, {"message": str}),
    "__varied__": (Varied, {"what": str}),
    "__result__": (Result, {"value": object}),
    "__no_value__": (NoValue, {}),
    "__error__": (Failure, {"phase": get_args(Phase), "name": str, "message": str, "stack": str}),
    "__answer__": (Answered, {"batch": int, "at": int, "cpu_us": int, "emitted": list, "state": (dict, None)}),
    "__failed__": (
        Failed,
        {"batch": int, "at": int, "cpu_us": int, "phase": get_args(Phase), "name": str, "message": str, "stack": str},
    ),
}
_CUT_RESULT: dict[str, _Kind] = {"text": str, "original_bytes": int}


def encode(value: Any) -> bytes:
    """The value as JSON. NaN and infinity become null. Raises ValueError for a value that JSON cannot express."""
    try:
        return to_json(value, inf_nan_mode="null")
    except (PydanticSerializationError, RecursionError) as error:
        raise ValueError(str(error)) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTerms:
    """The settings of one run, sent to the process together with its code and context."""

    tools: Sequence[Mapping[str, Any]] = ()
    tier: Tier = Tier.ISOLATED
    workspace: bool = False
    deterministic: Literal["plain", "wholly"] | None = None
    max_result_bytes: int
    max_output_bytes: int
    max_frame_bytes: int = 64 * 1024


def run_frame(
    code: str,
    context_json: bytes,
    terms: RunTerms,
    display_limits: tuple[int, int] | None = None,
    *,
    seed: int | None = None,
    clock_ms: float | None = None,
) -> bytes:
    """`display_limits`: how often the code may display something, and how many bytes in all. `seed` and `clock_ms`:
    what `Math.random` is drawn from, and where the clock of a deterministic run begins."""
    # The context may be megabytes and is JSON already: insert it as it is, do not encode it a second time.
    head = b'{"type":"__run__","code":%b,"context":%b,' % (encode(code), context_json)
    limits = b"" if display_limits is None else b'"display_limits":%b,' % encode(display_limits)
    given = {"seed": seed, "clock_ms": clock_ms}
    fixed = b"".join(b'"%b":%b,' % (name.encode(), encode(value)) for name, value in given.items() if value is not None)
    return head + limits + fixed + encode(terms)[1:] + b"\n"


def rehearse_frame(*codes: str) -> bytes:
    """Warm-up runs that the process does before it reports ready."""
    terms = RunTerms(tools=[{"path": ["a", "b"], "name": "a.b"}], max_result_bytes=64, max_output_bytes=64)
    runs = (run_frame(code, b'{"a":[1]}', terms) for code in codes)
    return b'{"type":"__rehearse__","runs":[%b]}\n' % b",".join(run.rstrip() for run in runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentTerms:
    """The settings of a resident program, sent to the process together with its code."""

    tools: Sequence[Mapping[str, Any]] = ()
    tier: Tier = Tier.ISOLATED
    workspace: bool = False
    deterministic: bool = False
    max_output_bytes: int
    max_frame_bytes: int
    max_state_bytes: int
    max_emitted: int
    max_signal_bytes: int
    is_function: bool = False


def reside_frame(code: str, terms: ResidentTerms) -> bytes:
    return encode({"type": "__reside__", "code": code, **asdict(terms)}) + b"\n"


def signals_frame(batch: int, state_json: bytes, signals_json: Sequence[bytes]) -> bytes:
    head = b'{"type":"__signals__","batch":%d,"state":%b,"signals":[' % (batch, state_json)
    return b"%b%b]}\n" % (head, b",".join(signals_json))


def tool_result_frame(call_id: str, result_json: bytes, bytes_at: Sequence[Sequence[str | int]] = ()) -> bytes:
    """`bytes_at` names the places in the result whose text is base64, for bytes. It stands beside the result: nothing
    inside a result can pass for bytes."""
    marks = b',"bytes":%b' % encode(bytes_at) if bytes_at else b""
    return b'{"type":"__tool_result__","call_id":%b,"result":%b%b}\n' % (encode(call_id), result_json, marks)


def tool_error_frame(call_id: str, error: str, code: str, *, retryable: bool) -> bytes:
    frame = {
        "type": "__tool_error__",
        "call_id": call_id,
        "error": error,
        "code": code,
        "retryable": retryable,
    }
    return encode(frame) + b"\n"


def decode(line: Line) -> GuestFrame:
    """Parse one line into a frame. Raises MalformedFrame when it is not exactly one frame."""
    try:
        frame = bounded_json(line, LIMITS)
        # JSON has no infinity, but Python reads a large number such as 1e999 as infinity: make it null.
        if b"Infinity" in to_json(frame, inf_nan_mode="constants"):
            frame = from_json(to_json(frame, inf_nan_mode="null"))
    except TooComplex as error:
        raise MalformedFrame(f"a frame of {error}") from error
    except (ValueError, RecursionError) as error:
        raise MalformedFrame("a line that is not JSON") from error
    if not isinstance(frame, dict):
        raise MalformedFrame("a line that is not an object")
    return _typed(frame)


def weight_of(line: Line) -> int:
    """Estimate how many bytes of memory a parsed frame takes: the two bytes of an empty object become sixty-four."""
    return len(line) + 200 * (line.count(b"{") + line.count(b"[")) + 60 * line.count(b",")


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
        if not _fits(frame[key], kind):
            raise MalformedFrame(f"a {name} frame with a wrong {key}")
    if "call_id" in frame and any(len(frame.get(key, "")) > most for key, most in _SHORT.items()):
        raise MalformedFrame(f"a {name} frame with a long name")
    return make(**frame)


def _fits(value: Any, kind: _Kind) -> bool:
    if isinstance(kind, type):
        return isinstance(value, kind) and not (kind is int and isinstance(value, bool))
    if isinstance(kind[0], type):
        return value is None or isinstance(value, kind[0])
    return value in kind


class FrameReader(LineSplitter[Line]):
    """Splits the bytes read from a pipe into lines. Raises MalformedFrame as soon as a line exceeds the limit."""

    def _refuse(self, reason: str) -> None:
        raise MalformedFrame(f"a frame of {reason}")
