"""What is kept of one run, and how that is written as one line of a file. Pure.

A line is ASCII JSON. It ends with its seal: the number of the audit's record about it, and the SHA-256 of the bytes
before the seal, which that record holds too.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

MAX_LINE_BYTES = 1_048_576
MAX_ID_CHARACTERS = 120

Outcome: TypeAlias = Literal["ok", "error", "timeout", "cancelled", "host_failed"]
Keep: TypeAlias = Literal["facts", "texts"]

_SEAL = re.compile(rb',"audit":(null|[0-9]{1,18}),"hash":"([0-9a-f]{64})"}\Z')
_STRANGE = re.compile(r"[^A-Za-z0-9._-]")
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")).encode


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class CallDetails(_Data):
    """One call of a tool, or of the conversation's store, by the code."""

    kind: Literal["tool", "store"] = "tool"
    name: str
    start_ms: float
    """From the beginning of the run."""
    ms: float
    ok: bool
    code: str | None = None
    """The code of the error."""
    bytes_in: int | None = None
    """The size of the arguments; None where they were too large to be kept in memory."""
    bytes_out: int | None = None
    asked_ms: float | None = None
    """How long the owner was asked; None if the owner was not."""
    arguments: str | None = None
    """JSON, without secrets; only with `keep_arguments`."""
    result: str | None = None


class FetchDetails(_Data):
    """One request of the code to the network. A redirect and the request that follows it are two."""

    method: str
    url: str
    """Origin and path, without the query."""
    query_hash: str | None = None
    status: int | None = None
    """None when there was no answer."""
    bytes: int = 0
    start_ms: float
    ms: float
    redirected_from: str | None = None
    refused: str | None = None
    """Why there was no answer."""


class LogDetails(_Data):
    """One call of `console`."""

    at_ms: float | None = None
    """From the beginning of the run."""
    level: str
    text: str


class ErrorDetails(_Data):
    """The error of a run that failed."""

    message: str
    stack: str | None = None
    where: str | None = None
    """The first place in the author's code, and that line of code."""
    line: int | None = None


class RecordingRef(_Data):
    """Where the recording of a run is."""

    id: str = Field(pattern=r"^[0-9a-f]{24}$")
    bytes: int
    hash: str
    """SHA-256 of the file."""


class RunDetails(_Data):
    """One run, as the owner may see it: without secrets, and within limits."""

    format: Literal[1] = 1
    id: str
    turn: str
    call: int
    at: float
    """When it began, in seconds since 1970. Offsets are in milliseconds from here."""
    ended_at: float
    keep: Keep
    outcome: Outcome
    reply_code: str
    """`OK`, or what the reply begins with; `CANCELLED` or `HOST_FAILED` for a run without an outcome."""
    error_type: str | None = None
    purpose: str = ""
    expected_output: str | None = None
    tier: str
    code_hash: str
    timeout_ms: int = 0
    max_memory_mb: int | None = None
    cost: float = 0.0
    level_before: float = 0.0
    level: float = 0.0
    origin: str = "program"
    conversation: str | None = None
    model_call_id: str | None = None
    trace_id: str | None = None
    host_pid: int = 0
    host_started: int | None = None
    startup_ms: float = 0.0
    before_ms: float = 0.0
    """Until the sandbox was given the code: energy was taken, and the beginning was recorded."""
    queue_ms: float = 0.0
    execution_ms: float = 0.0
    total_ms: float = 0.0
    cpu_ms: float = 0.0
    peak_memory_mb: float = 0.0
    discovery_ms: float = 0.0
    wall: str = ""
    tools_lent: tuple[str, ...] = ()
    tools_lent_count: int = 0
    cached: bool = False
    cached_from: str | None = None
    """The id of the run whose result this is, where it is known."""
    deterministic: bool = False
    clock_ms: float | None = None
    """What the clock of the code said at its beginning, in milliseconds since 1970."""
    seed: int | None = None
    """What `Math.random` was drawn from; None where that is not known."""
    tool_calls: int = 0
    fetches: int = 0
    fetched_bytes: int = 0
    failed_calls: int = 0
    result_bytes: int | None = None
    displayed: int = 0
    calls: tuple[CallDetails, ...] = ()
    calls_left_out: int = 0
    requests: tuple[FetchDetails, ...] = ()
    requests_left_out: int = 0
    reply: str | None = None
    """What the model read; only with `texts`."""
    reply_bytes: int = 0
    logs: tuple[LogDetails, ...] = ()
    logs_head: int = 0
    """The first entries, up to here, are the first of the run; those left out stand behind them."""
    logs_left_out: int = 0
    error: ErrorDetails | None = None
    recording: RecordingRef | None = None
    audit: int | None = None
    """The number of the audit's record with the hash of this line; None where the audit could not be written."""
    hash: str = ""
    """SHA-256 of the line as it is in the file, without its seal."""
    position: str = ""
    """Where the reader found it."""


class ForgottenRun(_Data):
    """What is left of a run that the owner had forgotten."""

    format: Literal[1] = 1
    forgotten: Literal[True] = True
    id: str
    turn: str = ""
    call: int = 0
    at: float = 0.0
    forgotten_at: float = 0.0
    by: str = "owner"
    audit: int | None = None
    hash: str = ""
    """That of the line which was here."""
    position: str = ""


Entry: TypeAlias = RunDetails | ForgottenRun
_OUTSIDE = {"audit", "hash", "position"}


def run_id(turn: str, call: int) -> str:
    """The name of a run: fit for a file, an address and a terminal."""
    return f"{_STRANGE.sub('.', turn[:MAX_ID_CHARACTERS])}-{call}"


def body_of(details: RunDetails) -> tuple[bytes, str]:
    """The line without its seal and its last brace, and the hash of it."""
    body = _encode(details.model_dump(mode="json", exclude=_OUTSIDE, exclude_defaults=False))[:-1].encode("ascii")
    return body, hashlib.sha256(body + b"}").hexdigest()


def sealed(body: bytes, digest: str, audit: int | None) -> bytes:
    """The whole line, with its line end."""
    number = b"null" if audit is None else b"%d" % audit
    return b'%b,"audit":%b,"hash":"%b"}\n' % (body, number, digest.encode())


def tombstone(details: RunDetails | ForgottenRun, at: float, by: str, length: int) -> bytes:
    """A line in place of one of `length` bytes, line end included: of the same length where that is possible, so that
    other lines stay where they are."""
    left = ForgottenRun(
        id=details.id,
        turn=details.turn,
        call=details.call,
        at=details.at,
        forgotten_at=at,
        by=by,
        audit=details.audit,
        hash=details.hash,
    )
    text = _encode(left.model_dump(mode="json", exclude={"position"}))[:-1].encode("ascii")
    return text + b" " * max(0, length - len(text) - 2) + b"}\n"


def entry_of(line: bytes, position: str = "") -> Entry | None:
    """What a line says, given without its line end; None for a damaged line, and for one of another format."""
    if len(line) > MAX_LINE_BYTES:
        return None
    try:
        if line.startswith(b'{"format":1,"forgotten":true'):
            return ForgottenRun.model_validate_json(line).model_copy(update={"position": position})
        seal = _SEAL.search(line)
        if seal is None:
            return None
        # That of what is there, whatever the seal says: the audit has the one of what was written.
        digest = hashlib.sha256(line[: seal.start()] + b"}").hexdigest()
        return RunDetails.model_validate_json(line).model_copy(update={"position": position, "hash": digest})
    except (ValidationError, ValueError, RecursionError):
        return None


def as_json(entry: Entry) -> dict[str, Any]:
    """The entry as JSON, for programs."""
    return entry.model_dump(mode="json", exclude={"position"})
