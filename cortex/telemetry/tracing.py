"""Draws what a cortex does as spans of OpenTelemetry, where the program has an SDK of it: a turn, the calls in it, the
runs of code, their calls of tools and their requests. A listener of the event spine.

Spans hold names, sizes, times and hashes. What code, models and servers said is in none, unless the owner wants it.
"""

from __future__ import annotations

import sys
import time
from collections import OrderedDict
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from cortex.contracts import (
    ExecutionCutShort,
    ExecutionEnded,
    ExecutionStarted,
    OwnerAnswered,
    Refused,
    ToolCalled,
    reply_code,
)
from cortex.runs import ObservedRun, run_id

from . import span_names as names
from .neuron_spans import Deliveries

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer, TracerProvider

    from cortex.contracts import CortexEvent, RunCodeIntent, TracedCall
    from cortex.loop import LanguageModel
    from cortex.settings import ModelSettings, Settings
    from sandbox import FetchNote

    from .content import Content
    from .open_spans import OpenSpan

MAX_OPEN_RUNS = 1_000
MAX_FETCHES = 200
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_NS = 1_000_000_000
HTTP_FAILED = 400


def provider_in_use() -> TracerProvider | None:
    """The tracer provider of an SDK that this program has configured; None without one. Imports nothing that the
    program has not imported itself."""
    if "opentelemetry.trace" not in sys.modules:
        return None  # no one can have set one
    from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider, get_tracer_provider  # noqa: PLC0415

    provider = get_tracer_provider()
    return None if isinstance(provider, ProxyTracerProvider | NoOpTracerProvider) else provider


def tracing_of(settings: Settings) -> SpanTracing | None:
    """The tracing of a cortex; None where it is off, or no SDK is configured. Asked once: it does not look again."""
    if not settings.telemetry.traces:
        return None
    provider = provider_in_use()
    if provider is None:
        return None
    from .content import Content  # noqa: PLC0415 - only where there are spans

    content = Content(settings.redaction) if settings.telemetry.content else None
    return SpanTracing(tracer_of(provider), content, settings.telemetry.neuron_every)


def tracer_of(provider: TracerProvider) -> Tracer:
    try:
        own = version("motor-cortex")
    except PackageNotFoundError:  # started from a folder, without an installation
        own = "unknown"
    return provider.get_tracer(names.SCOPE, own, schema_url=names.SCHEMA_URL)


class SpanTracing:
    """A `cortex.contracts.Tracing`."""

    def __init__(self, tracer: Tracer, content: Content | None = None, neuron_every: int = 0) -> None:
        self._tracer = tracer
        self.delivery = Deliveries(tracer, neuron_every).delivery
        self._content = content
        self._runs: OrderedDict[int, tuple[RunCodeIntent, OpenSpan]] = OrderedDict()
        self._contexts: dict[tuple[str, int], Context] = {}

    def turn(self, turn: str, conversation: str | None) -> OpenSpan:
        from .open_spans import OpenSpan  # noqa: PLC0415 - here and below: only where there are spans

        attributes = {names.OPERATION: names.INVOKE_AGENT, names.AGENT_NAME: names.AGENT, names.TURN: turn[:200]}
        if conversation is not None:
            attributes[names.CONVERSATION] = conversation[:200]
        return OpenSpan(self._tracer.start_span(f"{names.INVOKE_AGENT} {names.AGENT}", attributes=attributes))

    def model(self, model: LanguageModel, settings: ModelSettings) -> LanguageModel:
        """The model, with a span for each of its requests."""
        from .chat_spans import TracedModel  # noqa: PLC0415

        return TracedModel(model, self._tracer, settings)

    def call(self, tool: str) -> OpenSpan:
        from .open_spans import CallSpan  # noqa: PLC0415

        return CallSpan(self._tracer.start_span(f"{names.EXECUTE_TOOL} {tool}", attributes=_of_tool(tool)))

    def tool_calls(self, turn: str) -> TracedCall:
        from .open_spans import ToolSpan  # noqa: PLC0415

        def traced(tool: str, origin: str, policy: str, run: int | None) -> OpenSpan:
            attributes = {**_of_tool(tool), names.ORIGIN: origin, names.POLICY: policy, names.TURN: turn[:200]}
            # Code calls from tasks of the sandbox, which need not have been started inside of the run.
            context = None if run is None else self._contexts.get((turn, run))
            return ToolSpan(self._tracer.start_span(f"{names.EXECUTE_TOOL} {tool}", context, attributes=attributes))

        return traced

    def apart(self) -> None:
        from .open_spans import leave_traces  # noqa: PLC0415

        leave_traces()

    def hear(self, event: CortexEvent) -> None:
        match event:
            case ExecutionStarted():
                self._started(event)
            case ExecutionEnded():
                self._ended(event)
            case ExecutionCutShort():
                self._cut_short(event)
            case Refused():
                self._refused(event)
            case ToolCalled():
                self._called(event)
            case OwnerAnswered():
                self._answered(event)
            case _:
                pass

    def _started(self, event: ExecutionStarted) -> None:
        from .open_spans import OpenSpan  # noqa: PLC0415

        intent, payload = event.intent, event.intent.payload
        attributes: dict[str, Any] = {
            names.CODE_HASH: event.code_hash,
            names.TIER: str(payload.tier),
            names.TIMEOUT_MS: payload.timeout,
            names.TOOLS_LENT: event.tools,
        }
        if intent.trace is not None:
            attributes[names.RUN] = run_id(intent.trace.turn, intent.trace.call)
        opened = OpenSpan(
            self._tracer.start_span(f"{names.RUN_CODE} {payload.tier}", attributes=attributes)
        ).__enter__()
        if intent.trace is not None:
            self._contexts[intent.trace.turn, intent.trace.call] = opened.context
        self._runs[id(intent)] = (intent, opened)
        if len(self._runs) > MAX_OPEN_RUNS:
            _, (oldest, forgotten) = self._runs.popitem(last=False)
            self._forget(oldest)
            forgotten.end()

    def _taken(self, intent: RunCodeIntent | None) -> OpenSpan | None:
        found = self._runs.pop(id(intent), None)
        if found is None:
            return None
        self._forget(found[0])
        return found[1]

    def _forget(self, intent: RunCodeIntent) -> None:
        if intent.trace is not None:
            self._contexts.pop((intent.trace.turn, intent.trace.call), None)

    def _ended(self, event: ExecutionEnded) -> None:
        from .open_spans import describe_run  # noqa: PLC0415

        opened, code = self._taken(event.intent), reply_code(event.outcome)
        outcome = event.outcome
        if opened is not None:
            if opened.span.is_recording():
                describe_run(opened, outcome, MAX_FETCHES)
                if isinstance(event.run, ObservedRun):
                    self._fetched(event.run, opened.context)
            opened.end()
        self._on_call(event, code, None if outcome.error is None else str(outcome.error.type))
        self._show(event.intent, event.reply)

    def _cut_short(self, event: ExecutionCutShort) -> None:
        opened = self._taken(event.intent)
        if opened is not None:
            opened.fail(event.why)
            opened.end()
        self._on_call(event, event.why, event.why)

    def _on_call(self, event: ExecutionEnded | ExecutionCutShort, code: str, error: str | None) -> None:
        from .open_spans import call_span  # noqa: PLC0415

        if (call := call_span.get()) is not None:
            call.span.set_attribute(names.REPLY_CODE, code)
            call.span.set_attribute(names.ENERGY_COST, event.cost)
            call.span.set_attribute(names.ENERGY_LEVEL, event.level)
            if error is not None:
                call.fail(error)

    def _refused(self, event: Refused) -> None:
        from .open_spans import call_span  # noqa: PLC0415

        code = event.reply.partition(":")[0][:40]
        opened = self._taken(event.intent)
        if opened is not None:  # the sandbox refused it
            opened.fail(code)
            opened.end()
        if (call := call_span.get()) is not None:
            call.span.set_attribute(names.REPLY_CODE, code)
            call.fail(code)
        self._show(event.intent, event.reply)

    def _show(self, intent: RunCodeIntent | None, reply: str) -> None:
        from .open_spans import call_span  # noqa: PLC0415

        call = call_span.get()
        if self._content is not None and call is not None and call.span.is_recording():
            if intent is not None:
                call.span.set_attribute(names.CALL_ARGUMENTS, self._content.text(intent.payload.code))
            call.span.set_attribute(names.CALL_RESULT, self._content.text(reply))

    def _called(self, event: ToolCalled) -> None:
        from .open_spans import tool_span  # noqa: PLC0415

        call = tool_span.get()
        if call is None or not call.span.is_recording():
            return
        if event.asked_ms is not None:
            call.span.add_event(names.OWNER_ASKED, {names.ASKED_MS: round(event.asked_ms, 3)})
        if event.error_code is not None:
            call.fail(event.error_code)
        if self._content is not None:
            call.span.set_attribute(names.CALL_ARGUMENTS, self._content.json(event.arguments))

    def _answered(self, event: OwnerAnswered) -> None:
        from .open_spans import call_span, tool_span  # noqa: PLC0415

        call = tool_span.get() or call_span.get()
        if call is not None:
            call.span.add_event(names.OWNER_ANSWERED, {names.TOOL_NAME: event.tool[:200], names.ALLOWED: event.allowed})

    def _fetched(self, run: ObservedRun, context: Context) -> None:
        """The requests of a run, drawn afterwards: nothing of a trace goes to the servers."""
        # The notes have the times of a clock that does not say when it is.
        offset_ns = time.time_ns() - time.perf_counter_ns()
        notes = run.fetched
        for note in notes[:MAX_FETCHES]:
            self._fetch(note, context, offset_ns)

    def _fetch(self, note: FetchNote, context: Context, offset_ns: int) -> None:
        from opentelemetry.trace import SpanKind  # noqa: PLC0415

        from .open_spans import failed  # noqa: PLC0415

        method = note.method if note.method in _METHODS else names.OTHER_METHOD
        began = int(note.began * _NS) + offset_ns
        attributes: dict[str, Any] = {names.HTTP_METHOD: method}
        if note.status is not None:
            # Only of a server that the owner allows: another name may be anything that code has put together.
            place = urlsplit(note.url)
            attributes[names.SERVER_ADDRESS] = (place.hostname or "")[:253]
            attributes[names.SERVER_PORT] = place.port or (443 if place.scheme == "https" else 80)
            attributes[names.HTTP_STATUS] = note.status
        span = self._tracer.start_span(
            method, context=context, kind=SpanKind.CLIENT, attributes=attributes, start_time=began
        )
        if note.refused is not None:
            failed(span, note.refused.partition(":")[0])
        elif note.status is not None and note.status >= HTTP_FAILED:
            failed(span, str(note.status))
        span.end(end_time=began + int(note.ms * 1_000_000))


def _of_tool(tool: str) -> dict[str, Any]:
    return {names.OPERATION: names.EXECUTE_TOOL, names.TOOL_NAME: tool[:200], names.TOOL_TYPE: names.FUNCTION}
