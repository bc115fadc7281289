"""Runs one execution. Refusals come first and cost nothing. Then energy is taken, the intent is recorded in the audit
log, and only then the code runs. The energy is given back only if nothing ran.

A turn calls `execute` for `core.execute`. Other code may call it without a turn: a `Caller` has the limits and the
consent of the one who asks, and `Services` has the parts of the cortex that all callers share.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import anyio.lowlevel

from cortex.audit import AuditError, code_hash
from cortex.contracts import (
    Blocked,
    Denied,
    ExecutionCutShort,
    ExecutionEnded,
    ExecutionStarted,
    RunCode,
    RunCodeIntent,
    Trace,
    asked_by,
    reply,
    said_in,
)
from cortex.energy import EnergyError, Insufficient, metered_cost
from cortex.runs import ObservedRun
from cortex.text import off_loop
from cortex.tools import CoreTool, LentTools, NotAllowed, policy_of
from sandbox import Displayed, ExecutionOutcome, ExecutionRequest, Tier, ToolError

from .displays import display_lines, shown_displays
from .files import FileTerms, settle_files
from .kept_state import keep_state, lent, store_of
from .watched_files import own_files

if TYPE_CHECKING:
    from cortex.audit import AuditJournal, Spine
    from cortex.catalogue import Wish, Workbench
    from cortex.contracts import CortexEvent, Refusal, Tracing
    from cortex.energy import Ledger, Reservation
    from cortex.home import Memory, Stores
    from cortex.redaction import Redactor
    from cortex.settings import ExecuteSettings, Settings
    from cortex.tools import Calls, Consent, Origin, Owner, Toolbox
    from neurons import Switch
    from sandbox import CodeRuntime, Guard, Running

    from .consolidate_tool import ConsolidateTool
    from .files import Folder, Keep, SettledFiles
    from .habit_watch import Observer
    from .later import Later
    from .notes import Notes
    from .plans import Plans

log = logging.getLogger("motor_cortex")

MAX_TEXT = 500
# Failed runs of a turn that are not counted.
MAX_CORRECTIONS = 3
# The fields of a run that the owner sees when asked to allow it.
_ALWAYS_SHOWN = {"purpose", "code", "tier", "timeout"}
_SHOWN_IF_GIVEN = {"context", "tools", "intent"}


class Keeps(Protocol):
    """What keeps the details of runs."""

    @property
    def max_bytes(self) -> int:
        """How much is to be recorded of what the tools and servers of a run answer; 0 for nothing."""
        ...


@dataclass(frozen=True, slots=True)
class Services:
    """The parts of one cortex that all its turns share."""

    settings: Settings
    toolbox: Toolbox
    runtime: CodeRuntime
    guard: Guard | None
    energy: Ledger
    spine: Spine
    memory: Memory
    owner: Owner
    asking: anyio.Lock
    """Only one question at a time in all turns: there is one owner."""
    switch: Switch
    workbench: Workbench
    redactor: Redactor
    """For turns that have no redactor of their own."""
    consolidate: ConsolidateTool | None = None
    """None where the agent cannot learn."""
    observer: Observer | None = None
    """Notices habits in the runs; None where that is disabled."""
    notes: Notes | None = None
    """What the model should hear beside its answers; None where there is no learning."""
    later: Later | None = None
    """Runs jobs; None where that is disabled."""
    stores: Stores | None = None
    """What conversations keep from run to run; None where the runtime cannot be given it."""
    plans: Plans | None = None
    """Takes plans of the model; None where that is disabled."""
    runs: Keeps | None = None
    """Keeps the details of runs; None where that is disabled."""
    tracing: Tracing | None = None
    """Draws spans; None where no SDK of OpenTelemetry is configured."""
    running: Running | None = None
    """Where the processes that render drawings are noted, so that the kill switch finds them; None for nowhere."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The code was run and succeeded or failed. `reply` is what the model reads, without secrets."""

    outcome: ExecutionOutcome
    reply: str
    cost: float
    level: float
    files: SettledFiles | None = None
    """What became of the changes of files; None without a folder."""
    displayed: tuple[Displayed, ...] = ()
    """What the code displayed, without secrets, drawings rendered."""


@dataclass(frozen=True, slots=True)
class NotRun:
    """Nothing ran and nothing was charged."""

    refusal: Refusal
    code_hash: str | None = None


@dataclass(frozen=True, slots=True)
class HostFailed:
    """The host failed after the energy was taken. The code may have run, so this is no refusal."""

    error: Exception


Executed: TypeAlias = Ran | NotRun | HostFailed


class RunCount:
    """Counts the runs of a caller against its limit. A run that is refused is not counted, and neither are the first
    MAX_CORRECTIONS runs that fail without any effect: the model corrects its code, and should not stop there."""

    def __init__(self, most: int, reason: str) -> None:
        self._most = most
        self._reason = reason
        self._runs = 0
        self._corrections = 0

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Take one place, before anything is awaited: the calls of one message run at the same time."""
        place = Place(Denied(self._reason) if self._runs >= self._most else None)
        self._runs += 1
        try:
            yield place
        finally:
            is_free = place.is_used and place.is_without_effect and self._corrections < MAX_CORRECTIONS
            self._corrections += is_free
            self._runs -= is_free or not place.is_used


@dataclass(slots=True)
class Place:
    refusal: Refusal | None
    is_used: bool = False
    is_without_effect: bool = False


@dataclass(frozen=True, slots=True)
class Caller:
    """The one who asks for an execution: a turn, or other code that runs code for an agent."""

    id: str
    count: RunCount
    consent: Consent
    calls: Calls
    show: Callable[[str], Awaitable[str]]
    """Redacts a reply, so that the model may see it."""
    announce: Callable[[CortexEvent], None]
    """Announces an event. Raises AuditError if it is the start of an execution and cannot be recorded."""
    conversation: str | None = None
    """The conversation whose store the code may use, and whose jobs the caller may look at; None for no store."""
    folder: Folder | None = None
    """The files that its code may use."""
    origin: Origin = "model"
    """Who asks, as the owner is told."""
    keep: Keep | None = None
    """Keeps the changes of files that may be made, to be committed later; None commits them at once."""
    redactor: Redactor | None = None
    """That of the turn, for what is kept of its runs; None for that of the cortex."""


def require_acting(switch: Switch, journal: AuditJournal) -> None:
    """Raises ToolError while the kill switch is on or the audit log cannot be written. Called before each tool call, so
    that code which is already running cannot call tools any more."""
    killed = switch.refusal()
    if killed is not None:
        raise ToolError(killed, code="denied")
    try:
        journal.require()
    except AuditError as error:
        raise ToolError(str(error), code="denied") from error


async def execute(intent: RunCodeIntent, wish: Wish, services: Services, caller: Caller) -> Executed:
    """Run the code of an intent, or return why it was not run. Raises only if a disk or the sandbox fails before energy
    is taken."""
    payload, settings = intent.payload, services.settings
    killed = services.switch.refusal()
    if killed is not None:
        return NotRun(Denied(killed))
    journal, max_code_bytes = services.spine.journal, settings.sandbox.max_code_bytes
    with caller.count.place() as place:
        refusal = place.refusal or await _guard_refusal(services, payload.code)
        # The owner comes last, and is not asked about a run that would be refused anyway.
        refusal = refusal or await _owner_refusal(intent, services, caller)
        if refusal is not None:
            return NotRun(refusal, journal.keep_refused_code(payload.code, max_code_bytes))
        # After these checks, because a refused run must start no MCP server. Before energy is taken, because starting a
        # server may take long.
        tools, discovery_ms = await _found(wish, intent, services, caller)
        own_hash = code_hash(payload.code)
        observed = _observed(intent, own_hash, services, caller)
        await anyio.lowlevel.checkpoint_if_cancelled()
        # Taken before the run, so that two turns cannot both spend the last energy.
        taken = await services.energy.take(payload.tier, turn=caller.id, code_hash=own_hash)
        if isinstance(taken, Insufficient):
            return NotRun(Denied(str(taken)), journal.keep_refused_code(payload.code, max_code_bytes))
        try:
            journal.keep_code(payload.code, max_code_bytes)
            energy = (taken.level_before, taken.level, own_hash, taken.cost, taken.seq)
            caller.announce(ExecutionStarted(intent, *energy, tools.count, discovery_ms, observed))
        except AuditError:
            await _settle(services, taken, 0.0)
            raise
        place.is_used = True
        store = store_of(caller.conversation, services.stores)
        folder = caller.folder
        try:
            outcome = await services.runtime.execute(
                ExecutionRequest(
                    code=payload.code,
                    tier=payload.tier,
                    timeout_ms=payload.timeout,
                    context=payload.context,
                    max_memory_mb=payload.max_memory_mb,
                    seed=None if observed is None else observed.seed,
                ),
                tools if observed is None else observed.tools(tools),
                network=None if observed is None else observed.network(settings.sandbox.network),
                workspace=None if folder is None else folder.workspace,
                **lent(store if store is None or observed is None else observed.store(store)),
            )
            if outcome.refused:
                # The sandbox refused, so no code ran. The start is in the audit log already; the turn adds the refusal.
                await _settle(services, taken, 0.0)
                place.is_used = False
                return NotRun(Denied(outcome.error.message if outcome.error else ""), own_hash)
            outcome, stored = await keep_state(outcome, store, services.switch)
            place.is_without_effect = has_no_effect(outcome)
            cost = _cost(services, outcome, payload.tier)
            level = taken.level if cost is None else await _settle(services, taken, cost)
            terms = None if folder is None else _file_terms(folder, services, caller)
            files = None if terms is None else await settle_files(outcome, intent, own_hash, terms)
            # Inside: drawings and long replies take time, and a caller who cancels meanwhile has still run the code.
            shown = await shown_displays(outcome.displayed, caller.show, services.running)
            lines = () if files is None else files.lines
            text = await reply_of(outcome, lines, caller.show, has_kept=stored is not None)
            text += await off_loop(sum(len(item.data) for item in shown), display_lines, shown)
        except BaseException as error:
            is_fault = isinstance(error, Exception)
            why = "HOST_FAILED" if is_fault else "CANCELLED"
            caller.announce(ExecutionCutShort(intent, why, taken.level, own_hash, taken.charged, observed))
            if not isinstance(error, Exception):
                raise
            return HostFailed(error)
        facts = None if stored is None else asdict(stored)
        caller.announce(ExecutionEnded(intent, outcome, text, level, own_hash, taken.charged, facts, shown, observed))
        if observed is not None and services.observer is not None:
            services.observer.ended(observed, outcome)
        return Ran(outcome, text, taken.charged, level, files, shown)


def _observed(intent: RunCodeIntent, own_hash: str, services: Services, caller: Caller) -> ObservedRun | None:
    """What watches the run, for habits and for its details; None where neither is wanted."""
    observer, runs = services.observer, services.runs
    if observer is None and runs is None and services.tracing is None:
        return None
    keeps = () if runs is None else (runs.max_bytes,)
    return ObservedRun(
        intent,
        own_hash,
        max((0, *keeps) if observer is None else (observer.max_bytes, *keeps)),
        redactor=caller.redactor,
        conversation=caller.conversation,
        asked_by=asked_by.get(),
        # Drawn here and not by the engine, so that the same can be drawn again.
        seed=secrets.randbits(32) if runs is not None and runs.max_bytes else None,
        has_workspace=caller.folder is not None,
    )


async def _found(wish: Wish, intent: RunCodeIntent, services: Services, caller: Caller) -> tuple[LentTools, float]:
    """The tools for the code, and how many milliseconds it took to find them."""
    began = time.perf_counter()
    found = await services.workbench.grant(wish)
    payload, run = intent.payload, None if intent.trace is None else intent.trace.call
    lent = LentTools(found, caller.calls, purpose=payload.purpose, code=payload.code, run=run)
    return lent, (time.perf_counter() - began) * 1000


def _file_terms(folder: Folder, services: Services, caller: Caller) -> FileTerms:
    own = own_files(services.settings, services.toolbox)
    return FileTerms(folder, caller.consent, services.switch, caller.announce, own, caller.keep)


async def reply_of(
    outcome: ExecutionOutcome, lines: Sequence[str], show: Callable[[str], Awaitable[str]], *, has_kept: bool
) -> str:
    """The reply, redacted: first each text that the code chose, because the reply cuts and quotes them."""
    said = said_in(outcome)
    shown = said._replace(**{part: await show(text) for part, text in said._asdict().items() if text})
    return await show(reply(outcome, lines, shown, has_kept=has_kept))


def has_no_effect(outcome: ExecutionOutcome) -> bool:
    """Whether the run failed without having called a tool, sent a request or changed a file."""
    metrics = outcome.metrics
    # A call that is not among `calls` and failed was refused before the tool was asked: its arguments did not fit.
    has_called = bool(outcome.calls) or metrics.tool_calls > metrics.failed_calls
    return not (outcome.ok or has_called or metrics.fetches or outcome.changes)


async def _guard_refusal(services: Services, code: str) -> Refusal | None:
    found = await services.guard.inspect(code) if services.guard is not None else ()
    return Blocked(found[0]) if found else None


async def _owner_refusal(intent: RunCodeIntent, services: Services, caller: Caller) -> Refusal | None:
    payload = intent.payload
    if policy_of(CoreTool("core.execute"), services.settings.tools) == "allow":
        return None
    weighed = services.energy.weigh(payload.tier)
    if isinstance(weighed, Insufficient):
        return Denied(str(weighed))  # the owner is not asked in vain
    # The owner sees the request that would run, not the arguments as the model wrote them.
    asked = payload.model_dump(mode="json", include=_ALWAYS_SHOWN)
    asked |= payload.model_dump(mode="json", include=_SHOWN_IF_GIVEN, exclude_defaults=True)
    refusal = await owner_refusal(caller.consent, "core.execute", asked, payload.purpose, caller.origin)
    # The owner took time to answer, and may have used it to turn on the kill switch.
    killed = services.switch.refusal()
    return Denied(killed) if refusal is None and killed is not None else refusal


async def owner_refusal(
    consent: Consent, name: str, arguments: dict[str, Any], purpose: str = "", origin: Origin = "model"
) -> Denied | None:
    """The reason why the owner or the owner's policy refuses a call of a core tool; None if it is allowed."""
    permission = await consent.of(CoreTool(name), arguments, origin=origin, purpose=purpose)
    return Denied(permission.reason) if isinstance(permission, NotAllowed) else None


def _cost(services: Services, outcome: ExecutionOutcome, tier: Tier) -> float | None:
    """The cost of a run if it is known only afterwards: of a cached result or of a metered run. None means that the
    price which was taken stays. Before the run, both need the same energy as any other run."""
    settings = services.settings
    if outcome.metrics.cached:
        return settings.cache.hit_cost
    return metered_cost(outcome.metrics, tier, settings.energy) if settings.energy.metered.enabled else None


async def _settle(services: Services, taken: Reservation, cost: float) -> float:
    """Correct what was taken to the cost, and return the level. If the ledger cannot be written, what was taken stays:
    the run has ended, and its reply must not be lost."""
    try:
        return await services.energy.settle(taken, cost)
    except EnergyError as error:
        log.warning("Cannot settle the energy of a run: %s", error)
        return taken.level


def intent_of(
    arguments: Mapping[str, Any], settings: ExecuteSettings, trace: Trace, *, waits_for_tools: bool = False
) -> RunCodeIntent:
    """The model's arguments as an intent, within the limits of the settings. Code that calls tools, of the host or of
    MCP servers, may run as long as in the network tier: tools are slow.

    A timeout outside the range is moved to its nearest end and not refused: a model cannot know the range of this host.
    """
    tier = Tier(arguments.get("tier", Tier.ISOLATED))
    is_slow = tier is Tier.NETWORK or waits_for_tools
    longest = settings.max_timeout_network_ms if is_slow else settings.max_timeout_isolated_ms
    if arguments.get("later"):
        longest = settings.max_timeout_later_ms
    payload = RunCode(
        purpose=arguments.get("purpose", "")[:MAX_TEXT],
        code=arguments["code"],
        tier=tier,
        timeout=int(min(max(arguments.get("timeout", longest), settings.min_timeout_ms), longest)),
        expectedOutput=arguments.get("expectedOutput", "")[:MAX_TEXT] or None,
        intent=arguments.get("intent", "")[:MAX_TEXT],
        tools=tuple(arguments.get("tools", ())),
        context=arguments.get("context", {}),
        max_memory_mb=arguments.get("max_memory_mb"),
    )
    return RunCodeIntent(payload=payload, trace=trace)
