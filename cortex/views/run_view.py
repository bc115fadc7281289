"""The runs of a home as facts for pages and tables: a list, and all that is kept of one run. Reads only.

Texts are as they were kept: without secrets, but an agent or a server chose them. Show them with care.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cortex.audit import Audit, AuditError, code_hash
from cortex.home import Home
from cortex.runs import (
    EVERY_RUN,
    ForgottenRun,
    RecordingChanged,
    RunDetails,
    RunReader,
    as_json,
    missing_of,
    open_programs,
    standing,
)

if TYPE_CHECKING:
    from cortex.runs import CallDetails, Entry, FetchDetails, OpenProgram, RunFilter
    from cortex.settings import Settings

Standing: TypeAlias = Literal["matches", "differs", "unknown"]
CodeState: TypeAlias = Literal["kept", "not kept", "changed"]
SpanKind: TypeAlias = Literal["pay", "wait", "start", "run", "tool", "store", "fetch"]
_ORDER = {"pay": 0, "wait": 1, "start": 2, "run": 3}


@dataclass(frozen=True, slots=True)
class KeptRun:
    """One run in a list."""

    id: str
    at: float
    outcome: str
    """ok, error, timeout, cancelled, host_failed; forgotten for one that the owner had forgotten."""
    position: str
    """Where a page goes on that ends with this run."""
    turn: str
    call: int
    audit: int | None
    """The number of the audit's record with the hash of it."""
    purpose: str = ""
    tier: str = ""
    error_type: str = ""
    took_ms: float = 0.0
    cpu_ms: float = 0.0
    memory_mb: float = 0.0
    calls: int = 0
    failed_calls: int = 0
    fetches: int = 0
    fetched_bytes: int = 0
    cost: float = 0.0
    level: float = 0.0
    cached: bool = False
    origin: str = ""
    conversation: str | None = None
    code_hash: str = ""
    forgotten_at: float | None = None


@dataclass(frozen=True, slots=True)
class RunSpan:
    """A part of a run with a beginning and a length, in milliseconds from the beginning of the run."""

    kind: SpanKind
    """pay: until energy was taken and the beginning recorded; wait: for a place among the runs; start: for a process;
    run: the code itself."""
    name: str
    start_ms: float
    ms: float
    ok: bool
    outcome: str
    """In a word or a number: ok, the code of an error, the status of an answer, refused."""
    bytes_in: int | None = None
    bytes_out: int | None = None
    asked_ms: float | None = None
    """How long the owner was asked."""
    note: str = ""
    """Where a request was redirected from, or why it was refused."""
    arguments: str | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class RunLog:
    """One entry of the console; or, with a level of "", what was left out there."""

    at_ms: float | None
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class RunView:
    """All that is kept of one run."""

    row: KeptRun
    details: RunDetails | ForgottenRun
    standing: Standing
    """Whether the audit has the hash of what is shown."""
    code: str | None
    """As the agent wrote it; None where it was not kept, or is not what ran."""
    code_state: CodeState
    spans: tuple[RunSpan, ...]
    """In the order in which they began: the parts of the run itself, its calls and requests."""
    logs: tuple[RunLog, ...]
    missing: tuple[str, ...]
    """What a replay of the run would lack, as sentences; empty when all is there."""
    can_replay: bool
    """The code is there, and a replay answers it with whatever was kept."""

    def as_json(self) -> dict[str, Any]:
        """The facts for programs. Names stay; more may come."""
        return {
            "run": asdict(self.row),
            "details": as_json(self.details),
            "standing": self.standing,
            "code": self.code,
            "code_state": self.code_state,
            "spans": [asdict(span) for span in self.spans],
            "logs": [asdict(log) for log in self.logs],
            "missing": list(self.missing),
            "can_replay": self.can_replay,
        }


@dataclass(frozen=True, slots=True)
class RunsView:
    """A page of runs, newest first."""

    rows: tuple[KeptRun, ...]
    before: str | None
    """Where the next page goes on; None at the end. A page may have no rows and still a next one."""
    damaged: int


class HomeRuns:
    """Reads the runs of a home. Creates nothing. Raises OSError, AuditError, and HomeError for an unsafe home."""

    def __init__(self, settings: Settings) -> None:
        self.reader = RunReader(settings.home / "runs")
        # Refuses a home that is a file, or that other users could have written.
        self._open = Home(settings.home).state_to_read / "open"
        self.audit = Audit(settings.home / "audit", settings.audit)

    @classmethod
    @contextmanager
    def opened(cls, settings: Settings) -> Iterator[HomeRuns]:
        found = cls(settings)
        try:
            yield found
        finally:
            found.audit.close()

    def page(self, wanted: RunFilter = EVERY_RUN, *, before: str | None = None, most: int = 100) -> RunsView:
        """At most `most` runs that fit, before a cursor. Raises ValueError for what is no cursor."""
        page = self.reader.newest(wanted, before=before, most=most)
        return RunsView(tuple(map(run_row, page.runs)), page.before, page.damaged)

    def find(self, prefix: str) -> RunView | None:
        """The run of this id, or the only one whose id begins so. Raises AmbiguousRun."""
        entry = self.reader.find(prefix)
        return None if entry is None else self.view(entry)

    def programs(self) -> list[OpenProgram]:
        """The programs that are open on the home, and what each runs now; those that are gone were killed."""
        return open_programs(self._open)

    def view(self, entry: Entry) -> RunView:
        code, code_state = self.code_of(entry)
        missing = self._missing(entry)
        if code is None:
            missing = ("Its code is not in the audit's folder of code, so it cannot be run again.", *missing)
        return RunView(
            run_row(entry),
            entry,
            standing(entry, self.audit),
            code,
            code_state,
            spans_of(entry) if isinstance(entry, RunDetails) else (),
            logs_of(entry) if isinstance(entry, RunDetails) else (),
            missing,
            can_replay=code is not None and isinstance(entry, RunDetails),
        )

    def code_of(self, entry: Entry) -> tuple[str | None, CodeState]:
        """The code of a run, if it is what ran."""
        if isinstance(entry, ForgottenRun):
            return None, "not kept"
        try:
            code = self.audit.code(entry.code_hash)
        except AuditError:
            code = None
        if code is None:
            return None, "not kept"
        return (code, "kept") if code_hash(code) == entry.code_hash else (None, "changed")

    def _missing(self, entry: Entry) -> tuple[str, ...]:
        if isinstance(entry, ForgottenRun):
            return ("The run was forgotten.",)
        try:
            return missing_of(entry, self.reader.recording(entry))
        except RecordingChanged:
            return ("Its recording is not what was written, and is not used.",)


def run_row(entry: Entry) -> KeptRun:
    if isinstance(entry, ForgottenRun):
        return KeptRun(
            entry.id,
            entry.at,
            "forgotten",
            entry.position,
            entry.turn,
            entry.call,
            entry.audit,
            forgotten_at=entry.forgotten_at,
        )
    return KeptRun(
        entry.id,
        entry.at,
        entry.outcome,
        entry.position,
        entry.turn,
        entry.call,
        entry.audit,
        entry.purpose,
        entry.tier,
        entry.error_type or "",
        entry.total_ms or max(0.0, round((entry.ended_at - entry.at) * 1000, 3)),
        entry.cpu_ms,
        entry.peak_memory_mb,
        entry.tool_calls,
        entry.failed_calls,
        entry.fetches,
        entry.fetched_bytes,
        # The ledger subtracts floating-point numbers: 0.05 may be 0.050000000000000044 there.
        round(entry.cost, 9),
        round(entry.level, 9),
        entry.cached,
        entry.origin,
        entry.conversation,
        entry.code_hash,
    )


def spans_of(details: RunDetails) -> tuple[RunSpan, ...]:
    """What took time in the run, in the order in which it began."""
    found = [*_own_spans(details), *map(_call_span, details.calls), *map(_fetch_span, details.requests)]
    return tuple(sorted(found, key=lambda span: (_ORDER.get(span.kind, len(_ORDER)), span.start_ms)))


def _own_spans(details: RunDetails) -> Iterator[RunSpan]:
    at = 0.0
    waits: tuple[tuple[SpanKind, float, str], ...] = (
        ("pay", details.before_ms, "paid and was recorded"),
        ("wait", details.queue_ms, "waited for a place"),
        ("start", details.startup_ms, "waited for a process"),
    )
    for kind, ms, what in waits:
        if ms:
            yield RunSpan(kind, what, round(at, 3), ms, ok=True, outcome="ok")
            at += ms
    if not details.cached:
        ms = details.execution_ms or max(0.0, round((details.ended_at - details.at) * 1000 - at, 3))
        yield RunSpan("run", "ran the code", round(at, 3), ms, ok=details.outcome == "ok", outcome=details.outcome)


def _call_span(call: CallDetails) -> RunSpan:
    return RunSpan(
        call.kind,
        call.name,
        call.start_ms,
        call.ms,
        call.ok,
        "ok" if call.ok else call.code or "error",
        call.bytes_in,
        call.bytes_out,
        call.asked_ms,
        arguments=call.arguments,
        result=call.result,
    )


def _fetch_span(request: FetchDetails) -> RunSpan:
    came = "" if request.redirected_from is None else f"redirected from {request.redirected_from}"
    return RunSpan(
        "fetch",
        f"{request.method} {request.url}{'?…' if request.query_hash else ''}",
        request.start_ms,
        request.ms,
        request.status is not None and request.status < 400,
        "refused" if request.status is None else str(request.status),
        bytes_out=request.bytes,
        note=request.refused or came,
    )


def logs_of(details: RunDetails) -> tuple[RunLog, ...]:
    """The entries of the console, with a mark where some were left out."""
    logs = [RunLog(log.at_ms, log.level, log.text) for log in details.logs]
    if details.logs_left_out:
        entries = "1 entry" if details.logs_left_out == 1 else f"{details.logs_left_out} entries"
        logs.insert(details.logs_head, RunLog(None, "", f"{entries} left out"))
    return tuple(logs)


def interleaved(spans: Sequence[RunSpan], logs: Sequence[RunLog]) -> list[RunSpan | RunLog]:
    """Calls, requests and entries of the console by the time at which they began. An entry without a time stays behind
    the one before it."""
    timed: list[tuple[float, int, RunSpan | RunLog]] = []
    last = 0.0
    for log in logs:
        last = max(last, log.at_ms or 0.0)
        timed.append((last, 1, log))
    timed += [(span.start_ms, 0, span) for span in spans]
    return [one for _, _, one in sorted(timed, key=lambda each: each[:2])]
