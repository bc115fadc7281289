"""Writes the events of a turn to the audit: facts only, never the text of code, arguments or results.

If an action cannot be recorded, it is the last one: nothing more is done until the audit can be written again.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from cortex.contracts import reply_code

from .code_folder import code_hash
from .errors import AuditError
from .trail import Audit

if TYPE_CHECKING:
    from cortex.contracts import RunCodeIntent
    from cortex.energy import Entry
    from cortex.tools import Decision, Question
    from sandbox import ExecutionOutcome

log = logging.getLogger("motor_cortex")


class Journal:
    """The audit of one cortex: knows which facts belong to which event."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit
        self._missed = 0
        self._is_closed = False

    def close(self) -> None:
        self._is_closed = True

    def require(self) -> None:
        """Raise AuditError while the audit cannot be written."""
        if self._is_closed:
            raise AuditError("The cortex is closed")
        if self._missed:
            self._audit.record("recovered", missed=self._missed)
            self._missed = 0

    def keep_code(self, code: str, max_bytes: int) -> str:
        """Keep the code and return its hash. Code that is too long to run is not kept: refusals are free, disk space is
        not."""
        if len(code.encode(errors="replace")) > max_bytes:
            return code_hash(code)
        return self._audit.keep_code(code)

    def intent(self, intent: RunCodeIntent, code_hash: str, cost: float, level: float) -> None:
        """Record a run before it starts, so that it has a line even if the host is killed. Raises AuditError: then it
        must not run."""
        self._audit.record("intent", **_facts(_of(intent), code_hash=code_hash, cost=cost, level=level))

    def execution(
        self, intent: RunCodeIntent, code_hash: str, outcome: ExecutionOutcome, reply: str, cost: float, level: float
    ) -> None:
        metrics = outcome.metrics
        self._write(
            "execution",
            **_of(intent),
            code_hash=code_hash,
            ok=outcome.ok,
            reply_code=reply_code(outcome),
            error_type=outcome.error.type if outcome.error else None,
            execution_ms=round(metrics.execution_ms, 3),
            cpu_ms=round(metrics.cpu_ms, 3),
            peak_memory_mb=round(metrics.peak_memory_mb, 1),
            tool_calls=metrics.tool_calls,
            fetches=metrics.fetches,
            fetched_bytes=metrics.fetched_bytes,
            result_bytes=outcome.result_bytes or len(reply.encode(errors="replace")),
            result_hash=hashlib.sha256(reply.encode(errors="replace")).hexdigest(),
            wall=metrics.level,
            cached=metrics.cached or None,
            cost=cost,
            level=level,
        )

    def unfinished(self, intent: RunCodeIntent, code_hash: str, why: str, cost: float, level: float) -> None:
        self._write("execution", **_of(intent), code_hash=code_hash, ok=False, reply_code=why, cost=cost, level=level)

    def refusal(
        self, turn: str, tool: str, reply: str, intent: RunCodeIntent | None = None, code_hash: str | None = None
    ) -> None:
        about = _of(intent) if intent is not None else {"turn": turn}
        self._write("refusal", tool=tool, **about, code_hash=code_hash, reason=reply)

    def tool_call(
        self, turn: str, tool: str, origin: str, arguments: Any, error_code: str | None, duration_ms: float
    ) -> None:
        self._write(
            "tool_call",
            turn=turn,
            tool=tool,
            origin=origin,
            ok=error_code is None,
            error_code=error_code,
            duration_ms=round(duration_ms, 3),
            arguments_hash=_digest(arguments),
        )

    def decision(self, question: Question, decision: Decision) -> None:
        self._write(
            "owner_decision",
            what="tool call",
            turn=question.turn,
            tool=question.tool,
            origin=question.origin,
            allowed=decision.allowed,
            reason=decision.reason,
            arguments_hash=_digest(question.arguments),
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
            return
        try:
            self._audit.record(kind, **_facts(facts))
        except Exception as error:  # noqa: BLE001 - also for a broken clock, or facts that are not JSON
            # The action has happened and its answer is due; the next one is refused by `require`.
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


def _facts(facts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {name: value for name, value in {**facts, **more}.items() if value is not None}


def _digest(arguments: Any) -> str:
    """The hash of what a model sent, even if it is not JSON."""
    try:
        data = to_json(arguments, inf_nan_mode="strings", serialize_unknown=True)
    except ValueError:
        data = repr(arguments).encode(errors="backslashreplace")
    return hashlib.sha256(data).hexdigest()
