"""Chooses which facts of each event go into the audit log; never the text of code, arguments or results.

After an action that could not be recorded, nothing more is done until the audit log can be written again.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from cortex.contracts import (
    CoreToolCalled,
    ExecutionCutShort,
    ExecutionEnded,
    ExecutionStarted,
    FilesChanged,
    OwnerAnswered,
    Refused,
    ToolCalled,
    WorkflowStepped,
    reply_code,
)
from sandbox import identity_of

from .code_folder import code_hash
from .ports import AuditError

if TYPE_CHECKING:
    from cortex.contracts import CortexEvent, RunCodeIntent
    from cortex.energy import Entry

    from .ports import Trail

log = logging.getLogger("motor_cortex")


MAX_REFUSED_KEPT = 200
# The events of a workflow of which the audit has a line; its tasks have their own lines.
_DECISIVE = ("run_", "decision_", "replanned")


class AuditJournal:
    """The audit of one cortex: knows which facts belong to which event."""

    def __init__(self, audit: Trail) -> None:
        self._audit = audit
        self._missed = 0
        self._is_closed = False
        self._refused_kept = 0
        own = identity_of(os.getpid())
        self._host_started = None if own is None else own.started

    def close(self) -> None:
        self._is_closed = True

    def require(self) -> None:
        """Raise AuditError while the audit cannot be written."""
        if self._is_closed:
            raise AuditError("The cortex is closed")
        if self._missed:
            self._audit.record("recovered", missed=self._missed)
            self._missed = 0

    def keep_refused_code(self, code: str, max_bytes: int) -> str:
        """Keep code that was refused, but only of the first refusals, and return its hash. A refusal costs no energy:
        without a limit, refused code could fill the disk."""
        if self._refused_kept >= MAX_REFUSED_KEPT:
            return code_hash(code)
        self._refused_kept += 1
        return self.keep_code(code, max_bytes)

    def keep_code(self, code: str, max_bytes: int) -> str:
        """Keep the code and return its hash. Code that is too long to run is not kept: refusals are free, disk space is
        not."""
        if len(code.encode(errors="replace")) > max_bytes:
            return code_hash(code)
        return self._audit.keep_code(code)

    def hear(self, event: CortexEvent) -> None:
        """Record an event. If the start of an execution cannot be recorded, this raises AuditError and the code is not
        run. Other events are already past; failures to record them are counted."""
        match event:
            case ExecutionStarted():
                # Recorded before the run: a run whose host is killed has left a line, too.
                started = {"code_hash": event.code_hash, "cost": event.cost, "level": event.level, "lent": event.tools}
                # A run whose host has died must not look as if it still ran.
                host = {"host": os.getpid(), "host_started": self._host_started}
                self._audit.record("intent", **_facts(_of(event.intent), **started, **host))
            case ExecutionEnded():
                self._execution(event)
            case ExecutionCutShort():
                cut_short = {"code_hash": event.code_hash, "cost": event.cost, "level": event.level}
                self._write("execution", **_of(event.intent), ok=False, reply_code=event.why, **cut_short)
            case Refused():
                about = {"turn": event.turn} if event.intent is None else _of(event.intent)
                self._write("refusal", tool=event.tool, **about, code_hash=event.code_hash, reason=event.reply)
            case ToolCalled():
                self._tool_call(event)
            case CoreToolCalled():
                self._tool_call(ToolCalled(event.tool, "model", True, 0.0, event.turn, event.arguments))
            case OwnerAnswered():
                self._write(
                    "owner_decision",
                    what="tool call",
                    turn=event.turn,
                    tool=event.tool,
                    origin=event.origin,
                    allowed=event.allowed,
                    reason=event.reason,
                    arguments_hash=event.arguments_hash or digest(event.arguments),
                    by=event.by or None,
                )
            case FilesChanged(state="committing"):
                # Before the commit, as with a run: what cannot be written down is not done.
                self._audit.record("files", **_facts(_of_files(event)))
            case FilesChanged():
                self._write("files", **_of_files(event))
            case WorkflowStepped() if event.event.startswith(_DECISIVE):
                about = {name: event.data[name] for name in ("task", "by", "answer") if name in event.data}
                self._write(
                    "workflow",
                    run=event.run,
                    event=event.event,
                    number=event.seq,
                    data_hash=digest(dict(event.data)),
                    **about,
                )
            case _:
                pass  # what was said, remembered and proposed stands elsewhere; `Recorded` comes from the audit itself

    def _execution(self, event: ExecutionEnded) -> None:
        outcome, metrics, reply = event.outcome, event.outcome.metrics, event.reply.encode(errors="replace")
        self._write(
            "execution",
            **_of(event.intent),
            code_hash=event.code_hash,
            ok=outcome.ok,
            reply_code=reply_code(outcome),
            error_type=outcome.error.type if outcome.error else None,
            stopped=(outcome.error is not None and outcome.error.stopped) or None,
            execution_ms=round(metrics.execution_ms, 3),
            total_ms=round(metrics.total_ms, 3),
            cpu_ms=round(metrics.cpu_ms, 3),
            peak_memory_mb=round(metrics.peak_memory_mb, 1),
            tool_calls=metrics.tool_calls,
            fetches=metrics.fetches,
            failed_fetches=metrics.failed_fetches or None,
            fetched_bytes=metrics.fetched_bytes,
            result_bytes=outcome.result_bytes or len(reply),
            result_hash=hashlib.sha256(reply).hexdigest(),
            wall=metrics.level,
            cached=metrics.cached or None,
            displayed_hashes=[hashlib.sha256(item.data).hexdigest() for item in event.displayed] or None,
            cost=event.cost,
            level=event.level,
            store=event.stored,
        )

    def _tool_call(self, event: ToolCalled) -> None:
        self._write(
            "tool_call",
            turn=event.turn,
            tool=event.tool,
            origin=event.origin,
            ok=event.error_code is None,
            error_code=event.error_code,
            duration_ms=round(event.duration_ms, 3),
            asked_ms=None if event.asked_ms is None else round(event.asked_ms, 3),
            call=event.call,
            arguments_hash=digest(event.arguments),
        )

    def energy(self, entry: Entry) -> None:
        """Record the owner's changes of the level, and repairs of the ledger. Spending is in the line of the execution.

        Raises AuditError for an owner's decision: it is recorded before it is carried out, or not carried out.
        """
        if entry.by is not None:
            self._audit.record("owner_decision", what=f"energy {entry.reason}", by=entry.by, level=entry.level)
        elif entry.note is not None:
            self._write("recovered", what="energy", reason=entry.note, level=entry.level)

    def _write(self, kind: str, **facts: Any) -> None:
        if self._is_closed:
            log.warning("The audit has no line for an event of kind %s: the cortex was closed", kind)
            return
        try:
            self._audit.record(kind, **_facts(facts))
        except Exception as error:  # noqa: BLE001 - also for a broken clock, or facts that are not JSON
            # The action has happened, so its answer is given; the next action is refused by `require`.
            self._missed += 1
            log.error("Cannot write the audit: %s", error)


def _of(intent: RunCodeIntent) -> dict[str, Any]:
    payload = intent.payload
    return {
        "intent": intent.type,
        "turn": intent.trace.turn if intent.trace else None,
        "call": intent.trace.call if intent.trace else None,
        "purpose": payload.purpose,
        "language": payload.language,
        "tier": payload.tier,
        "timeout_ms": payload.timeout,
        "expected_output": payload.expected_output,
    }


def _of_files(event: FilesChanged) -> dict[str, Any]:
    """Counts and hashes: neither a name nor a content."""
    trace = event.intent.trace
    return {
        "turn": trace.turn if trace else None,
        "call": trace.call if trace else None,
        "code_hash": event.code_hash,
        "what": f"files {event.state}",
        **{kind: event.counts.get(kind, 0) for kind in ("added", "changed", "removed")},
        "changes_hash": event.changes_hash,
        "content_hashes": event.content_hashes,
        "reason": event.reason or None,
    }


def _facts(facts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {name: value for name, value in {**facts, **more}.items() if value is not None}


def digest(arguments: Any) -> str:
    """The hash of what a model sent, even if it is not JSON."""
    try:
        data = to_json(arguments, inf_nan_mode="strings", serialize_unknown=True)
    except ValueError:
        data = repr(arguments).encode(errors="backslashreplace")
    return hashlib.sha256(data).hexdigest()
