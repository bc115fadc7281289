"""One execution, in the order in which things happen: refusals first, which cost nothing; then energy is taken, the
audit writes the intent, and only then does anything run. Energy that was taken stays taken whatever the code does, and
goes back only when nothing ran after all.

A turn calls this for `core.execute`. Nothing here needs a turn: a `Caller` says who asks, and on whose
terms, and `Services` are the parts of the cortex that all callers share.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio.lowlevel

from cortex.audit import AuditError
from cortex.contracts import (
    Blocked,
    Denied,
    ExecutionCutShort,
    ExecutionEnded,
    ExecutionStarted,
    RunCode,
    RunCodeIntent,
    Trace,
    reply,
)
from cortex.energy import EnergyError, Insufficient, metered_cost
from cortex.tools import CoreTool, LentTools, NotAllowed, policy_of
from sandbox import Displayed, ExecutionOutcome, ExecutionRequest, Tier, ToolError

from .displays import display_lines, shown_displays

if TYPE_CHECKING:
    from cortex.audit import Journal, Spine
    from cortex.catalogue import Wish, Workbench
    from cortex.contracts import CortexEvent, Refusal
    from cortex.energy import Ledger, Reservation
    from cortex.home import Memory
    from cortex.redaction import Redactor
    from cortex.settings import ExecuteSettings, Settings
    from cortex.tools import Calls, Consent, Owner, Toolbox
    from neurons import Switch
    from sandbox import CodeRuntime, Guard

    from .consolidate_tool import ConsolidateTool
    from .habit_watch import Observer

log = logging.getLogger("motor_cortex")

MAX_TEXT = 500
# What the owner is shown who is asked about a run.
_ALWAYS_SHOWN = {"purpose", "code", "tier", "timeout"}
_SHOWN_IF_GIVEN = {"context", "tools", "intent"}


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


@dataclass(frozen=True, slots=True)
class Ran:
    """The code was run, whatever came of it. `reply` is what the model reads, without secrets."""

    outcome: ExecutionOutcome
    reply: str
    cost: float
    level: float
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
    """How often a caller may run code. A run that is refused gives its place back."""

    def __init__(self, most: int, reason: str) -> None:
        self._most = most
        self._reason = reason
        self._runs = 0

    @contextmanager
    def place(self) -> Iterator[Place]:
        """Counted before anything is awaited: calls of one message run at the same time."""
        place = Place(Denied(self._reason) if self._runs >= self._most else None)
        self._runs += 1
        try:
            yield place
        finally:
            self._runs -= not place.is_used


@dataclass(slots=True)
class Place:
    refusal: Refusal | None
    is_used: bool = False


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks for an execution: one turn, or whatever else runs code for an agent."""

    id: str
    count: RunCount
    consent: Consent
    calls: Calls
    show: Callable[[str], Awaitable[str]]
    """A reply as the model may see it: redacted."""
    announce: Callable[[CortexEvent], None]
    """Raises AuditError for the start of an execution that cannot be written down."""


def require_acting(switch: Switch, journal: Journal) -> None:
    """Raises ToolError while the kill switch is on, or nothing can be written down. Asked before each call of a tool:
    code that is running when the switch is turned acts no more, either."""
    killed = switch.refusal()
    if killed is not None:
        raise ToolError(killed, code="denied")
    try:
        journal.require()
    except AuditError as error:
        raise ToolError(str(error), code="denied") from error


async def execute(intent: RunCodeIntent, wish: Wish, services: Services, caller: Caller) -> Executed:
    """Run the code of an intent, or say why not. Raises only what a broken disk or sandbox raises before energy is
    taken."""
    payload, settings = intent.payload, services.settings
    killed = services.switch.refusal()
    if killed is not None:
        return NotRun(Denied(killed))
    code_hash = services.spine.journal.keep_code(payload.code, settings.sandbox.max_code_bytes)
    with caller.count.place() as place:
        refusal = place.refusal or await _guard_refusal(services, payload.code)
        # The owner last, who is not asked about what would be refused anyway.
        refusal = refusal or await _owner_refusal(intent, services, caller)
        if refusal is not None:
            return NotRun(refusal, code_hash)
        # After those: what is refused starts no server. Before the energy: a server may take its time.
        tools = LentTools(
            await services.workbench.grant(wish), caller.calls, purpose=payload.purpose, code=payload.code
        )
        observed = None if services.observer is None else services.observer.begin(intent, code_hash)
        await anyio.lowlevel.checkpoint_if_cancelled()
        # Taken before the run: two turns must not both spend the last of it.
        taken = await services.energy.take(payload.tier, turn=caller.id, code_hash=code_hash)
        if isinstance(taken, Insufficient):
            return NotRun(Denied(str(taken)), code_hash)
        try:
            caller.announce(ExecutionStarted(intent, taken.level_before, taken.level, code_hash, taken.cost))
        except AuditError:
            await _settle(services, taken, 0.0)
            raise
        place.is_used = True
        try:
            outcome = await services.runtime.execute(
                ExecutionRequest(
                    code=payload.code,
                    tier=payload.tier,
                    timeout_ms=payload.timeout,
                    context=payload.context,
                    max_memory_mb=payload.max_memory_mb,
                ),
                tools if observed is None else observed.tools(tools),
                network=None if observed is None else observed.network(settings.sandbox.network),
            )
            if outcome.refused:
                await _settle(services, taken, 0.0)
                place.is_used = False
                return NotRun(Denied(outcome.error.message if outcome.error else ""), code_hash)
            cost = _cost(services, outcome, payload.tier)
            level = taken.level if cost is None else await _settle(services, taken, cost)
        except BaseException as error:
            is_fault = isinstance(error, Exception)
            why = "HOST_FAILED" if is_fault else "CANCELLED"
            caller.announce(ExecutionCutShort(intent, why, taken.level, code_hash, taken.charged))
            if not isinstance(error, Exception):
                raise
            return HostFailed(error)
        shown = await shown_displays(outcome.displayed, caller.show)
        text = await caller.show(reply(outcome)) + display_lines(shown)
        caller.announce(ExecutionEnded(intent, outcome, text, level, code_hash, taken.charged, shown))
        if observed is not None and services.observer is not None:
            services.observer.ended(observed, outcome)
        return Ran(outcome, text, taken.charged, level, shown)


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
    # The owner is shown what is run, and not what the model wrote.
    asked = payload.model_dump(mode="json", include=_ALWAYS_SHOWN)
    asked |= payload.model_dump(mode="json", include=_SHOWN_IF_GIVEN, exclude_defaults=True)
    refusal = await owner_refusal(caller.consent, "core.execute", asked, payload.purpose)
    # The owner took time to answer, and may have used it to turn on the kill switch.
    killed = services.switch.refusal()
    return Denied(killed) if refusal is None and killed is not None else refusal


async def owner_refusal(consent: Consent, name: str, arguments: dict[str, Any], purpose: str = "") -> Denied | None:
    """What the owner's policy has against a tool of the cortex itself, if it has anything."""
    permission = await consent.of(CoreTool(name), arguments, origin="model", purpose=purpose)
    return Denied(permission.reason) if isinstance(permission, NotAllowed) else None


def _cost(services: Services, outcome: ExecutionOutcome, tier: Tier) -> float | None:
    """What a run costs where that is known only afterwards; None for the price that was taken. A kept result and a
    metered run are let in at the same floor as any run."""
    settings = services.settings
    if outcome.metrics.cached:
        return settings.cache.hit_cost
    return metered_cost(outcome.metrics, tier, settings.energy) if settings.energy.metered.enabled else None


async def _settle(services: Services, taken: Reservation, cost: float) -> float:
    """The level. When the ledger cannot be written, the price stays as it was taken: the reply of the run is due."""
    try:
        return await services.energy.settle(taken, cost)
    except EnergyError as error:
        log.warning("Cannot settle the energy of a run: %s", error)
        return taken.level


def intent_of(
    arguments: Mapping[str, Any], settings: ExecuteSettings, trace: Trace, *, waits_for_servers: bool = False
) -> RunCodeIntent:
    """What the model asks for, within what it may ask for. Code that calls MCP servers has the time of the network
    tier: computing is quick, and servers are not.

    A timeout outside the range is moved to its nearest end and not refused: a model cannot know the range of this host.
    """
    tier = Tier(arguments.get("tier", Tier.ISOLATED))
    is_slow = tier is Tier.NETWORK or waits_for_servers
    longest = settings.max_timeout_network_ms if is_slow else settings.max_timeout_isolated_ms
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
