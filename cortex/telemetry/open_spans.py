"""Spans that surround work: each is the parent of what is begun inside of it, also of spans of other libraries."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING

from opentelemetry.context import Context, attach, get_current
from opentelemetry.trace import Span, StatusCode, format_trace_id, set_span_in_context

from cortex.contracts import AskedBy, asked_by
from cortex.loop import answered_call

from . import span_names as names

if TYPE_CHECKING:
    from types import TracebackType

    from sandbox import ExecutionOutcome

call_span: ContextVar[OpenSpan | None] = ContextVar("motor_cortex_call_span", default=None)
"""The call of a core tool in which this task is."""
tool_span: ContextVar[OpenSpan | None] = ContextVar("motor_cortex_tool_span", default=None)
"""The call of a tool in which this task is."""


class OpenSpan:
    """A span that is the current one until it is left, which may be in another task: so nothing is reset by a token."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.context: Context = set_span_in_context(span)
        self._before: Context | None = None
        self._has_failed = False

    def __enter__(self) -> OpenSpan:
        self._before = get_current()
        self.context = set_span_in_context(self.span, self._before)
        attach(self.context)
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None:
            self.fail(type(error).__name__ if isinstance(error, Exception) else "cancelled")
        self.end()

    def fail(self, error_type: str) -> None:
        """Mark the span as failed. The first reason counts: it is the nearest to the cause."""
        if not self._has_failed:
            self._has_failed = True
            failed(self.span, error_type)

    def end(self) -> None:
        self.span.end()
        if self._before is not None and get_current() is self.context:
            attach(self._before)


class CallSpan(OpenSpan):
    """Of a call of a core tool: what is run in it knows its trace."""

    _outer: OpenSpan | None = None
    _asked_before: AskedBy | None = None

    def __enter__(self) -> OpenSpan:
        found = self.span.get_span_context()
        self._outer, self._asked_before = call_span.get(), asked_by.get()
        call_span.set(self)
        call_id = answered_call() or self._asked_before.call_id
        if call_id:
            self.span.set_attribute(names.CALL_ID, call_id[:200])
        if found.is_valid and found.trace_flags.sampled:
            asked_by.set(replace(self._asked_before, trace_id=format_trace_id(found.trace_id)))
        return super().__enter__()

    def end(self) -> None:
        super().end()
        if call_span.get() is self:
            call_span.set(self._outer)
            if self._asked_before is not None:
                asked_by.set(self._asked_before)


class ToolSpan(OpenSpan):
    """Of a call of a tool."""

    _outer: OpenSpan | None = None

    def __enter__(self) -> OpenSpan:
        self._outer = tool_span.get()
        tool_span.set(self)
        return super().__enter__()

    def end(self) -> None:
        super().end()
        if tool_span.get() is self:
            tool_span.set(self._outer)


def failed(span: Span, error_type: str) -> None:
    """Mark the span as failed. Never with a message: that may hold what code or a server said."""
    span.set_attribute(names.ERROR_TYPE, error_type[:100])
    span.set_status(StatusCode.ERROR)


def leave_traces() -> None:
    """Make no span the current one, in this task and in those that it starts."""
    attach(Context())
    call_span.set(None)
    tool_span.set(None)


def describe_run(opened: OpenSpan, outcome: ExecutionOutcome, max_fetches: int) -> None:
    metrics = outcome.metrics
    opened.span.set_attributes(
        {
            names.STARTUP_MS: round(metrics.startup_ms, 3),
            names.CPU_MS: round(metrics.cpu_ms, 3),
            names.MEMORY_MB: round(metrics.peak_memory_mb, 1),
            names.TOOL_CALLS: metrics.tool_calls,
            names.FETCHES: metrics.fetches,
            names.FETCHES_LEFT_OUT: max(0, metrics.fetches - max_fetches),
            names.WALL: metrics.level,
            names.CACHED: metrics.cached,
        }
    )
    if outcome.error is not None:
        if outcome.error.stopped:
            opened.span.add_event(names.KILLED)
        opened.fail(str(outcome.error.type))
