"""Replays a run: the same code in the real sandbox, on its recorded answers, under its recorded clock and seed.

It has no network and no tools, takes no energy and leaves no record: nothing that it does has an effect.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from cortex.contracts import ExecutionEnded, RunCode, RunCodeIntent, Trace
from cortex.energy import EnergyError, on_terms, terms_in
from cortex.redaction import Redactor
from cortex.runs import (
    Host,
    ObservedRun,
    RecordingChanged,
    RunDetails,
    details_of,
    ended_of,
)
from cortex.settings import RunsSettings
from cortex.text import off_loop
from cortex.turn import display_lines, reply_of, shown_displays
from sandbox import DenoRuntime, ExecutionRequest, Running, Tier, may_vary

from .answers import RecordedAnswers
from .comparing import Difference, differences
from .what_if import AS_IT_WAS, Judged, WhatIf, refused_by

if TYPE_CHECKING:
    from cortex.runs import RunBundle, RunRecording
    from cortex.settings import EnergySettings, Settings
    from cortex.views import HomeRuns, RunView
    from sandbox import CodeRuntime, ExecutionOutcome

_MAX_KEPT = 16 * 1024 * 1024
_CODE_REDACTED = "Secrets were taken out of its code: what it asks for may not be what was recorded."


class ReplayRefused(ValueError):
    """The run cannot be replayed. The message says why."""


@dataclass(frozen=True, slots=True)
class Replayable:
    """A run with all that is known for a replay."""

    details: RunDetails
    code: str
    recording: RunRecording | None
    missing: tuple[str, ...] = ()
    """What is not known, as sentences."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """What came of a replay."""

    run: str
    verdict: Literal["same", "differs"]
    differences: tuple[Difference, ...]
    missing: tuple[str, ...]
    """What was not on record, and may be why it differs."""
    reply: str
    """What the model would have read, without secrets."""
    ran: bool
    """False: what if said that nothing would have run."""
    judged: tuple[Judged, ...] = ()
    """Calls that the other policies refuse, or would have asked the owner about."""
    note: str = ""

    @property
    def is_same(self) -> bool:
        return self.verdict == "same"

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def replayable_of(runs: HomeRuns, view: RunView) -> Replayable:
    """A run of a home. Raises ReplayRefused."""
    details = view.details
    if not isinstance(details, RunDetails):
        raise ReplayRefused("it was forgotten")
    if view.code is None:
        why = "was not kept" if view.code_state == "not kept" else "is not what ran: its file was changed"
        raise ReplayRefused(f"its code {why}")
    try:
        recording = runs.reader.recording(details)
    except RecordingChanged:
        recording = None
    return _checked(Replayable(details, view.code, recording, view.missing))


def replayable_in(bundle: RunBundle) -> Replayable:
    """An exported run. Raises ReplayRefused."""
    more = (_CODE_REDACTED,) if bundle.is_code_redacted else ()
    return _checked(Replayable(bundle.details, bundle.code, bundle.recording, (*bundle.missing, *more)))


def _checked(kept: Replayable) -> Replayable:
    if kept.details.outcome in {"cancelled", "host_failed"}:
        what = "was stopped" if kept.details.outcome == "cancelled" else "ended because the host failed"
        raise ReplayRefused(f"it {what}: there is no outcome on record to compare with")
    if kept.recording is not None and kept.recording.code_hash != kept.details.code_hash:
        raise ReplayRefused("its recording is of other code")
    return kept


async def replayed(
    kept: Replayable,
    settings: Settings,
    *,
    what_if: WhatIf = AS_IT_WAS,
    runtime: CodeRuntime | None = None,
    running: Running | None = None,
) -> ReplayResult:
    """Run the code again on its record, and compare. Without a runtime, one process is started for it, noted in
    `running`. A runtime that is given must answer nothing from a cache. Raises ReplayRefused, and SandboxError where no
    code can run."""
    details = kept.details
    request = _request(kept, settings)
    refusal, own = refused_by(what_if, request.tier, _energy(settings))
    judged = () if own is None else (own,)
    if refusal is not None:
        told = Difference("reply", _first(details.reply or details.reply_code), _first(refusal))
        return ReplayResult(details.id, "differs", (told,), (), refusal, ran=False, judged=judged)
    again, reply, answers, outcome = await _again(kept, request, settings, what_if, runtime, running or Running())
    found = differences(details, again, answers.misfits)
    return ReplayResult(
        details.id,
        "differs" if found else "same",
        found,
        kept.missing,
        reply,
        ran=True,
        judged=(*judged, *answers.judged),
        note=_note(kept.code, outcome) if found and not what_if else "",
    )


def _energy(settings: Settings) -> EnergySettings:
    """Prices and floors of the programs of the home, which may run with other settings than who asks."""
    try:
        return on_terms(settings.energy, terms_in(settings.home / "state"))
    except EnergyError:
        return settings.energy


def _request(kept: Replayable, settings: Settings) -> ExecutionRequest:
    """The run as it was asked for. A file may say anything: raises ReplayRefused for what no run can have been."""
    details, recording = kept.details, kept.recording
    context = recording.context if recording is not None and recording.has_context else {}
    most_ms = settings.sandbox.max_timeout_ms
    try:
        return ExecutionRequest(
            code=kept.code,
            tier=Tier(details.tier),
            timeout_ms=min(details.timeout_ms or most_ms, most_ms),
            context={} if context is None else context,
            max_memory_mb=details.max_memory_mb,
            deterministic=True,
            seed=details.seed if recording is None or recording.seed is None else recording.seed,
            clock_ms=_clock(details, recording),
        )
    except (ValueError, OverflowError) as error:  # a ValidationError is a ValueError
        raise ReplayRefused("its record says what no run can have been: it is damaged") from error


async def _again(
    kept: Replayable,
    request: ExecutionRequest,
    settings: Settings,
    what_if: WhatIf,
    runtime: CodeRuntime | None,
    running: Running,
) -> tuple[RunDetails, str, RecordedAnswers, ExecutionOutcome]:
    details, recording = kept.details, kept.recording
    redactor = Redactor(settings.redaction)
    answers = RecordedAnswers(details, recording, redactor, settings.sandbox, what_if)
    observed = ObservedRun(_intent(details, request), details.code_hash, _MAX_KEPT, seed=request.seed)
    async with _open(settings, runtime, running) as opened:
        given: dict[str, Any] = {"store": observed.store(answers)} if answers.has_store else {}
        policy = answers.network()
        # Never without a policy: the runtime would take that of the settings, and reach real servers.
        policy = observed.network(policy) or policy
        outcome = await opened.execute(request, observed.tools(answers), network=policy, **given)
    ended_at = time.perf_counter()
    if outcome.refused:
        raise ReplayRefused("nothing was run: " + ("" if outcome.error is None else outcome.error.message))

    async def show(text: str) -> str:
        return await off_loop(len(text), redactor.text, text)

    shown = await shown_displays(outcome.displayed, show, running)
    has_kept = any(call.kind == "store" and call.ok and call.name in {"set", "delete"} for call in observed.seen)
    reply = await reply_of(outcome, (), show, has_kept=has_kept) + display_lines(shown)
    event = ExecutionEnded(observed.intent, outcome, reply, details.level, details.code_hash, run=observed)
    limits = RunsSettings(keep="texts", max_text_bytes=settings.runs.max_text_bytes, max_calls=1_000)
    again = details_of(ended_of(event, observed, ended_at), limits, redactor, Host(os.getpid(), None))
    return again, reply, answers, outcome


@asynccontextmanager
async def _open(settings: Settings, runtime: CodeRuntime | None, running: Running) -> AsyncIterator[CodeRuntime]:
    if runtime is not None:
        yield runtime
        return
    # One process for one replay: no worker is kept warm for a second one.
    async with DenoRuntime(settings.sandbox.model_copy(update={"pool_size": 0}), running=running) as opened:
        yield opened


def _clock(details: RunDetails, recording: RunRecording | None) -> float:
    clock = None if recording is None else recording.clock_ms
    # Whole milliseconds, as a clock shows them.
    return max(0.0, float(int(details.clock_ms or clock or details.at * 1000)))


def _intent(details: RunDetails, request: ExecutionRequest) -> RunCodeIntent:
    payload = RunCode(
        purpose=details.purpose,
        code=request.code,
        tier=request.tier,
        timeout=request.timeout_ms or 0,
        context=request.context,
        max_memory_mb=request.max_memory_mb,
    )
    return RunCodeIntent(payload=payload, trace=Trace(turn=details.turn, call=details.call))


def _note(code: str, outcome: ExecutionOutcome) -> str:
    """Why code may give something else each time, where its words say so."""
    why = None if outcome.deterministic else may_vary(code)
    if why is None or "reaches beyond" in why:
        return ""
    return f"It may differ by itself: {why}. Here the clock begins where it began on record, and stands still."


def _first(text: str) -> str:
    return text.split("\n", 1)[0][:500]
