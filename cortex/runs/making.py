"""Makes the details of a run that has ended: what is kept, without secrets and within the limits of the settings.

Each text is redacted as a whole and then cut: half a secret is not recognized.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from cortex.text import whole

from .details import (
    MAX_LINE_BYTES,
    CallDetails,
    ErrorDetails,
    FetchDetails,
    LogDetails,
    RecordingRef,
    RunDetails,
    body_of,
    run_id,
)
from .ended_run import before_ms, clock_of, waited_ms
from .observed_run import plain

if TYPE_CHECKING:
    from cortex.redaction import Redactor
    from cortex.settings import RunsSettings
    from sandbox import ExecutionError, FetchNote

    from .details import Outcome
    from .ended_run import EndedRun
    from .observed_run import ObservedRun, SeenCall

MAX_LENT = 50
MAX_NAME = 200
MAX_URL = 500
MAX_PURPOSE = 500
MAX_ARGUMENT_BYTES = 1_024
_LINE = re.compile(r"at line (\d{1,7}),")
_CUT = "… (cut)"


@dataclass(frozen=True, slots=True)
class Host:
    """The process that runs the code."""

    pid: int
    started: int | None


def details_of(
    ended: EndedRun,
    settings: RunsSettings,
    redactor: Redactor,
    host: Host,
    *,
    recording: RecordingRef | None = None,
    cached_from: str | None = None,
) -> RunDetails:
    """The details. For a thread: it searches texts for secrets."""
    facts = {
        **_asked(ended.run, redactor, host),
        **_ended(ended),
        **_measured(ended),
        **_reached(ended.run, settings, redactor),
        "keep": "texts" if settings.keep == "texts" else "facts",
        "cached_from": cached_from,
        "recording": recording,
    }
    if settings.keep == "texts":
        facts |= _texts(ended, settings, redactor)
    return RunDetails(**facts)


def _asked(run: ObservedRun, redactor: Redactor, host: Host) -> dict[str, Any]:
    """What was to be run, who asked for it, and where."""
    payload, trace = run.intent.payload, run.intent.trace
    turn, call = ("", 0) if trace is None else (trace.turn, trace.call)
    lent = [one.name[:MAX_NAME] for one in run.lent]
    return {
        "id": run_id(turn, call),
        "turn": turn[:MAX_NAME],
        "call": call,
        "at": run.at,
        "purpose": whole(payload.purpose[:MAX_PURPOSE]),
        "tier": str(payload.tier),
        "code_hash": run.code_hash,
        "timeout_ms": payload.timeout,
        "max_memory_mb": payload.max_memory_mb,
        "level_before": run.level_before,
        "origin": _short(run.asked_by.origin, redactor),
        "conversation": None if run.conversation is None else _short(run.conversation, redactor),
        "model_call_id": None if run.asked_by.call_id is None else _short(run.asked_by.call_id, redactor),
        "trace_id": None if run.asked_by.trace_id is None else whole(run.asked_by.trace_id[:64]),
        "host_pid": host.pid,
        "host_started": host.started,
        "tools_lent": tuple(lent[:MAX_LENT]),
        "tools_lent_count": len(lent),
        "seed": run.seed,
    }


def _ended(ended: EndedRun) -> dict[str, Any]:
    run = ended.run
    return {
        "ended_at": run.at + (ended.ended - run.began),
        "outcome": _outcome(ended),
        "reply_code": ended.reply_code,
        "error_type": None if ended.error is None else str(ended.error.type),
        "cost": ended.cost,
        "level": ended.level,
        "deterministic": ended.deterministic,
        "clock_ms": clock_of(ended),
        "result_bytes": ended.result_bytes,
        "displayed": ended.displayed,
        "reply_bytes": len(ended.reply.encode(errors="replace")),
    }


def _measured(ended: EndedRun) -> dict[str, Any]:
    run, metrics = ended.run, ended.metrics
    tool_calls = sum(one.kind == "tool" for one in run.seen)
    return {
        "startup_ms": round(metrics.startup_ms, 3),
        "before_ms": round(before_ms(run), 3),
        "queue_ms": round(max(0.0, waited_ms(ended) - metrics.startup_ms), 3),
        "execution_ms": round(metrics.execution_ms, 3),
        "total_ms": round(metrics.total_ms, 3),
        "cpu_ms": round(metrics.cpu_ms, 3),
        "peak_memory_mb": round(metrics.peak_memory_mb, 1),
        "discovery_ms": round(run.discovery_ms, 3),
        "wall": metrics.level,
        "cached": metrics.cached,
        "tool_calls": max(metrics.tool_calls, tool_calls),
        "fetches": metrics.fetches,
        "fetched_bytes": metrics.fetched_bytes,
        "failed_calls": metrics.failed_calls,
    }


def _reached(run: ObservedRun, settings: RunsSettings, redactor: Redactor) -> dict[str, Any]:
    """The calls and requests, up to the limit, and how many more there were."""
    keeps_arguments = settings.keep == "texts" and settings.keep_arguments
    return {
        "calls": tuple(
            _call(one, run, redactor if keeps_arguments else None) for one in run.seen[: settings.max_calls]
        ),
        "calls_left_out": max(0, len(run.seen) - settings.max_calls) + run.unseen,
        "requests": tuple(_fetch(note, run, redactor) for note in run.fetched[: settings.max_calls]),
        "requests_left_out": max(0, len(run.fetched) - settings.max_calls) + run.fetches_unseen,
    }


def _texts(ended: EndedRun, settings: RunsSettings, redactor: Redactor) -> dict[str, Any]:
    payload = ended.run.intent.payload
    # What came before the code was sent: the offsets of the log are from there.
    sent_ms = before_ms(ended.run) + waited_ms(ended)
    logs, head, left_out = _logs(ended, settings.max_text_bytes // 2, sent_ms, redactor)
    return {
        "expected_output": None if payload.expected_output is None else whole(payload.expected_output),
        "reply": cut_text(ended.reply, settings.max_text_bytes),
        "logs": logs,
        "logs_head": head,
        "logs_left_out": left_out,
        "error": None if ended.error is None else _error(ended.error, settings.max_text_bytes // 8, redactor),
    }


def fitting(details: RunDetails) -> tuple[RunDetails, bytes, str]:
    """The details as a line that is short enough for the reader, its body and hash: parts are left out until it is."""
    lighter: tuple[dict[str, Any], ...] = (
        {},
        {"calls": ()},
        {"logs": ()},
        {"requests": ()},
        {"reply": None, "error": None},
    )
    body, digest = b"", ""
    for without in lighter:
        more = dict(without)
        if without == {"calls": ()}:
            plainer = (one.model_copy(update={"arguments": None, "result": None}) for one in details.calls)
            more = {"calls": tuple(plainer)}
        elif "logs" in without:
            more |= {"logs_head": 0, "logs_left_out": details.logs_left_out + len(details.logs)}
        elif "requests" in without:
            more |= {"requests_left_out": details.requests_left_out + len(details.requests)}
        details = details.model_copy(update=more)
        body, digest = body_of(details)
        if len(body) < MAX_LINE_BYTES - 200:
            break
    return details, body, digest


def cut_text(text: str, max_bytes: int) -> str:
    """The beginning of the text, at most so many bytes, with a mark if it is not all."""
    data = whole(text).encode()
    if len(data) <= max_bytes:
        return data.decode()
    return data[: max(0, max_bytes - len(_CUT.encode()))].decode(errors="ignore") + _CUT


def _outcome(ended: EndedRun) -> Outcome:
    if ended.reply_code == "CANCELLED":
        return "cancelled"
    if ended.reply_code == "HOST_FAILED":
        return "host_failed"
    if ended.ok:
        return "ok"
    return "timeout" if ended.reply_code.endswith("TIMEOUT") else "error"


def _short(text: str, redactor: Redactor) -> str:
    return whole(redactor.text(text[: 2 * MAX_NAME]))[:MAX_NAME]


def _call(call: SeenCall, run: ObservedRun, redactor: Redactor | None) -> CallDetails:
    ended = call.began if call.ended is None else call.ended
    is_shown = redactor is not None and call.is_kept
    return CallDetails(
        kind="store" if call.kind == "store" else "tool",
        name=whole(call.name[:MAX_NAME]),
        start_ms=round((call.began - run.began) * 1000, 3),
        ms=round((ended - call.began) * 1000, 3),
        ok=call.ok,
        code="unanswered" if call.ended is None else call.code,
        bytes_in=_size(call.arguments) if call.is_kept else None,
        bytes_out=call.bytes_out,
        asked_ms=None if call.asked_ms is None else round(call.asked_ms, 3),
        arguments=_shown(call.arguments, redactor) if is_shown and redactor is not None else None,
        result=_shown(plain(call.result), redactor) if is_shown and redactor is not None else None,
    )


def _size(value: Any) -> int | None:
    try:
        return len(to_json(value))
    except (PydanticSerializationError, ValueError, RecursionError):
        return None


def _shown(value: Any, redactor: Redactor) -> str | None:
    try:
        return cut_text(to_json(redactor.value(value)).decode(), MAX_ARGUMENT_BYTES)
    except (PydanticSerializationError, ValueError, RecursionError):
        return None


def _fetch(note: FetchNote, run: ObservedRun, redactor: Redactor) -> FetchDetails:
    url, query = _without_query(note.url, redactor)
    came_from = None if note.redirected_from is None else _without_query(note.redirected_from, redactor)[0]
    return FetchDetails(
        method=whole(note.method[:32]),
        url=url,
        query_hash=query,
        status=note.status,
        bytes=note.bytes,
        start_ms=round((note.began - run.began) * 1000, 3),
        ms=round(note.ms, 3),
        redirected_from=came_from,
        refused=None if note.refused is None else whole(redactor.text(note.refused))[:MAX_URL],
    )


def _without_query(url: str, redactor: Redactor) -> tuple[str, str | None]:
    """Origin and path, and the hash of the query. Without the part behind `#`, and without a name and password."""
    address, _, query = url.partition("#")[0].partition("?")
    scheme, separator, rest = address.partition("://")
    if separator:
        authority, slash, path = rest.partition("/")
        address = f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
    hashed = hashlib.sha256(query.encode(errors="replace")).hexdigest() if query else None
    return whole(redactor.text(address))[:MAX_URL], hashed


def _logs(
    ended: EndedRun, max_bytes: int, begins_ms: float, redactor: Redactor
) -> tuple[tuple[LogDetails, ...], int, int]:
    """The first and the last entries, half of the bytes for each; how many are the first; how many are left out."""
    # All at once: what stands beside a name in the entry before may be a secret, and one search is cheaper.
    entries = [*ended.first_logs, *ended.last_logs]
    texts = redactor.value([entry.text for entry in entries])
    shown = [
        LogDetails(
            at_ms=None if entry.at_ms is None else round(entry.at_ms + begins_ms, 3),
            level=entry.level,
            text=cut_text(text, max_bytes // 2),
        )
        for entry, text in zip(entries, texts, strict=True)
    ]
    first, last = shown[: len(ended.first_logs)], shown[len(ended.first_logs) :]
    head = _within(first, max_bytes // 2)
    if len(head) < len(first) and not last:
        last = first[len(head) :]
    tail = _within(last[::-1], max_bytes // 2)[::-1]
    return (*head, *tail), len(head), ended.logs - len(head) - len(tail)


def _within(entries: Sequence[LogDetails], max_bytes: int) -> Sequence[LogDetails]:
    room = max_bytes
    for at, entry in enumerate(entries):
        room -= len(entry.text.encode()) + 1
        if room < -1:
            return entries[:at]
    return entries


def _error(error: ExecutionError, max_bytes: int, redactor: Redactor) -> ErrorDetails:
    where = None if error.where is None else redactor.text(error.where)
    line = None if error.where is None else _LINE.search(error.where)
    return ErrorDetails(
        message=cut_text(redactor.text(error.message), max_bytes // 2),
        stack=None if error.stack is None else cut_text(redactor.text(error.stack), max_bytes // 2),
        where=None if where is None else cut_text(where, min(500, max_bytes // 2)),
        line=None if line is None else int(line[1]),
    )
