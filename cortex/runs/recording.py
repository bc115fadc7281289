"""What is needed to run the code of a run again without any authority: its context, and what its tools, its store and
servers answered, without secrets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from cortex.audit import digest
from cortex.text import whole
from sandbox import Exchange, JsonLimits, ReadyJson, bounded_json

from .observed_run import plain

if TYPE_CHECKING:
    from cortex.redaction import Redactor
    from sandbox import ToolDeclaration

    from .observed_run import ObservedRun, SeenCall

MAX_RECORDING_BYTES = 262_144
MAX_LENT = 50
MAX_SCHEMA_BYTES = 8_192
# Of such a call there is no more to record than that.
_NO_ANSWER = frozenset({"internal", "timeout", "cancelled"})
_LIMITS = JsonLimits(containers=20_000, values=50_000)


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_bytes="base64", val_json_bytes="base64")


class RecordedTool(_Data):
    """A tool that was lent: enough to lend one of the same name at the same places."""

    name: str
    server: str | None = None
    tool: str | None = None
    places: tuple[tuple[str, ...], ...] = ()
    input_schema: dict[str, Any] | None = None
    """Kept where a call was refused for its arguments; None: not kept, or too large."""


class RecordedCall(_Data):
    """One call of a tool or of the store, and its answer."""

    kind: Literal["tool", "store"] = "tool"
    name: str
    start_ms: float
    ms: float | None = None
    """None when there was no answer before the run ended."""
    ok: bool = False
    code: str | None = None
    """The code of the error, whose message is `error`."""
    error: str | None = None
    retryable: bool = False
    arguments: Any = None
    arguments_hash: str = ""
    """SHA-256 of the arguments before secrets were taken out, as in the audit's `tool_call`."""
    result: Any = None
    bytes_at: tuple[tuple[str | int, ...], ...] = ()
    """Where the result has bytes, as base64."""
    is_whole: bool = True
    """False: `arguments` and `result` had no room."""


class RecordedExchange(Exchange):
    """One request and its answer, in the order of the answers."""

    url_hash: str = ""
    """SHA-256 of the address before secrets were taken out."""


class RunRecording(_Data):
    """The recording of one run."""

    format: Literal[1] = 1
    run: str
    code_hash: str
    at: float
    clock_ms: float | None = None
    seed: int | None = None
    context: Any = None
    has_context: bool = True
    """False: the context had no room."""
    tools: tuple[RecordedTool, ...] = ()
    calls: tuple[RecordedCall, ...] = ()
    """In the order in which they began."""
    exchanges: tuple[RecordedExchange, ...] = ()
    has_workspace: bool = False
    """The code had files, which are not recorded."""
    left_out: int = 0
    """How many calls and exchanges are missing or have no answer for lack of room."""


def recording_of(
    run: ObservedRun, id_: str, redactor: Redactor, clock_ms: float | None = None, *, with_schemas: bool = False
) -> RunRecording:
    """The recording, without secrets; the code began at `clock_ms`, if not at once. `with_schemas`: a call was refused
    for its arguments. For a thread: it searches up to half a megabyte."""
    context, has_context = _clean(run.intent.payload.context, redactor)
    calls = tuple(_recorded(call, run, redactor) for call in run.seen)
    exchanges = tuple(_exchanges(run, redactor))
    answered = [call.ended is not None and (call.ok or call.code not in _NO_ANSWER) for call in run.seen]
    missing = sum(was and not call.is_whole for was, call in zip(answered, calls, strict=True)) + run.unseen
    lost = run.exchanges_dropped + sum(exchange.truncated for exchange in exchanges)
    lent = run.lent[:MAX_LENT]
    return RunRecording(
        run=id_,
        code_hash=run.code_hash,
        at=run.at,
        clock_ms=run.at * 1000 if clock_ms is None else clock_ms,
        seed=run.seed,
        context=context,
        has_context=has_context,
        tools=tuple(_recorded_tool(one, with_schema=with_schemas) for one in lent),
        calls=calls,
        exchanges=exchanges,
        has_workspace=run.has_workspace,
        left_out=missing + lost,
    )


def _recorded_tool(lent: ToolDeclaration, *, with_schema: bool) -> RecordedTool:
    schema = None
    # The client of a server checks the arguments of its tools, and its refusals are recorded as answers.
    if with_schema and lent.server is None and lent.input_schema:
        with suppress(PydanticSerializationError, ValueError, RecursionError):
            schema = dict(lent.input_schema) if len(to_json(lent.input_schema)) <= MAX_SCHEMA_BYTES else None
    return RecordedTool(name=lent.name, server=lent.server, tool=lent.tool, places=lent.places, input_schema=schema)


def is_needed(run: ObservedRun) -> bool:
    """Whether there is anything to record that the details do not say."""
    return bool(run.seen or run.exchanges or run.intent.payload.context or run.has_workspace)


def packed(recording: RunRecording) -> bytes | None:
    """The recording as a file of at most MAX_RECORDING_BYTES; None if it cannot be written as JSON. Exchanges and then
    calls are left out, the last ones first, until it fits."""
    try:
        data = to_json(recording)
        while len(data) > MAX_RECORDING_BYTES and (recording.exchanges or recording.calls):
            name = "exchanges" if recording.exchanges else "calls"
            kept = getattr(recording, name)
            fewer = kept[: len(kept) // 2]
            more_out = recording.left_out + len(kept) - len(fewer)
            recording = recording.model_copy(update={name: fewer, "left_out": more_out})
            data = to_json(recording)
    except (PydanticSerializationError, ValueError, RecursionError):
        return None
    return data if len(data) <= MAX_RECORDING_BYTES else None


def unpacked(data: bytes) -> RunRecording | None:
    """The recording in a file; None if it is none: a person or another version may have written it."""
    try:
        return RunRecording.model_validate_json(data) if len(data) <= MAX_RECORDING_BYTES else None
    except (ValidationError, ValueError, RecursionError):
        return None


def _recorded(call: SeenCall, run: ObservedRun, redactor: Redactor) -> RecordedCall:
    arguments, result, is_whole = None, None, call.is_kept
    hashed = digest(call.arguments) if call.is_kept else ""
    if is_whole:
        arguments, is_whole = _clean(call.arguments, redactor)
        result, has_result = _clean(plain(call.result), redactor)
        is_whole = is_whole and has_result
    return RecordedCall(
        kind="store" if call.kind == "store" else "tool",
        name=call.name,
        start_ms=round((call.began - run.began) * 1000, 3),
        ms=None if call.ended is None else round((call.ended - call.began) * 1000, 3),
        ok=call.ok,
        code=call.code,
        error=None if call.error is None else whole(redactor.text(call.error)),
        retryable=call.retryable,
        arguments=arguments,
        arguments_hash=hashed,
        result=result,
        bytes_at=call.result.bytes_at if isinstance(call.result, ReadyJson) else (),
        is_whole=is_whole,
    )


def _exchanges(run: ObservedRun, redactor: Redactor) -> Iterator[RecordedExchange]:
    for exchange in run.exchanges:
        try:
            body = b"" if exchange.truncated else redactor.text(exchange.body.decode()).encode(errors="replace")
        except UnicodeDecodeError:
            body = exchange.body
        yield RecordedExchange(
            method=exchange.method,
            url=redactor.text(exchange.url),
            # Without the headers of the request: they may hold credentials of the code, and no answer depends on them.
            request_body_sha256=exchange.request_body_sha256,
            status=exchange.status,
            reason=redactor.text(exchange.reason),
            headers=tuple(_clean_header(name, value, redactor) for name, value in exchange.headers),
            body=body,
            truncated=exchange.truncated,
            url_hash=hashlib.sha256(exchange.url.encode(errors="replace")).hexdigest(),
        )


def _clean_header(name: str, value: str, redactor: Redactor) -> tuple[str, str]:
    # Beside its name, which may say that it is a secret.
    [(shown, clean)] = redactor.value({name: value}).items()
    return shown, clean


def _clean(value: Any, redactor: Redactor) -> tuple[Any, bool]:
    """The value without secrets, and True; None and False for one that is too much, or is not JSON."""
    try:
        text = to_json(value)
        if len(text) > MAX_RECORDING_BYTES:
            return None, False
        return redactor.value(bounded_json(text, _LIMITS)), True
    except (PydanticSerializationError, ValueError, RecursionError):
        return None, False
