"""`core.execute`: turn the model's arguments into an intent, pass it through the guard and the gate, and run it.

Refusals come first and cost nothing; then the energy is taken, and only then does the code run. Energy stays taken
whatever the code does, and goes back only when nothing ran after all.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.lowlevel

from cortex.audit import AuditError
from cortex.contracts import RunCode, RunCodeIntent, Trace, blocked, denied, reply
from cortex.energy import EnergyError, Insufficient, metered_cost
from sandbox import ExecutionOutcome, ExecutionRequest, Tier

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from cortex.energy import EnergyReserve, Reservation
    from cortex.settings import EnergySettings, ExecuteSettings
    from sandbox import CodeRuntime, Guard, HostTools, Metrics, NetworkPolicy

log = logging.getLogger("motor_cortex")

MAX_TEXT = 500


@dataclass(frozen=True, slots=True)
class Ran:
    """The code was run, with success or not."""

    outcome: ExecutionOutcome
    cost: float
    level: float

    @property
    def text(self) -> str:
        return reply(self.outcome)


@dataclass(frozen=True, slots=True)
class NotRun:
    """Nothing ran and nothing was charged."""

    text: str


def intent_of(
    arguments: Mapping[str, Any], settings: ExecuteSettings, trace: Trace, *, waits_for_servers: bool = False
) -> RunCodeIntent:
    """The intent in the model's arguments, within the limits. Code that calls servers gets the timeout of the network
    tier: computing is quick, and servers are not.

    A timeout outside the range is moved to its nearest end and not refused: a model cannot know this host's range.
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


class ExecuteTool:
    """Inspects the code, asks for consent, takes the energy and runs the code. One for all turns."""

    def __init__(
        self,
        runtime: CodeRuntime,
        energy: EnergyReserve,
        settings: EnergySettings,
        guard: Guard | None,
        hit_cost: float | None = None,
    ) -> None:
        """`hit_cost` is the energy cost of a cached result; None means the cost of a run."""
        self._runtime = runtime
        self._energy = energy
        self._settings = settings
        self._guard = guard
        self._hit_cost = hit_cost

    async def run(
        self,
        intent: RunCodeIntent,
        code_hash: str,
        lend: Callable[[], Awaitable[HostTools]],
        consent: Callable[[], Awaitable[NotRun | None]],
        on_start: Callable[[Reservation], None],
        network: NetworkPolicy | None = None,
    ) -> Ran | NotRun:
        """Run the intent, or return why not. Raises nothing but a cancellation, and what a broken disk or sandbox
        raises: the caller turns those into an answer."""
        # Ask the owner last, not about code that would be refused anyway.
        refusal = await self._blocked(intent.payload.code) or await consent()
        if refusal is not None:
            return refusal
        # After the refusals: refused code starts no server. Before the energy is taken: a server may start slowly.
        tools = await lend()
        payload, turn = intent.payload, intent.trace.turn if intent.trace else None
        await anyio.lowlevel.checkpoint_if_cancelled()
        # Taken before the run: two turns must not both spend the last energy.
        taken = await self._energy.take(payload.tier, turn=turn, code_hash=code_hash)
        if isinstance(taken, Insufficient):
            return NotRun(denied(str(taken)))
        try:
            on_start(taken)
        except AuditError:
            await self._settle(taken, 0.0)
            raise
        request = ExecutionRequest(
            code=payload.code,
            tier=payload.tier,
            timeout_ms=payload.timeout,
            context=payload.context,
            max_memory_mb=payload.max_memory_mb,
        )
        outcome = await self._runtime.execute(request, tools, network=network)
        if outcome.refused:
            await self._settle(taken, 0.0)
            return NotRun(reply(outcome))
        cost = self._cost(outcome.metrics, payload.tier)
        level = taken.level if cost is None else await self._settle(taken, cost)
        return Ran(outcome, taken.charged, level)

    def _cost(self, metrics: Metrics, tier: Tier) -> float | None:
        """The final cost, if it is known only after the run: cached or metered. None otherwise. The gate used the
        ordinary cost and floor."""
        if metrics.cached:
            return self._hit_cost
        return metered_cost(metrics, tier, self._settings) if self._settings.metered.enabled else None

    async def _settle(self, taken: Reservation, cost: float) -> float:
        """Charge the final cost; return the level. If that fails, the cost stays as it was taken: the code has run, and
        the model must get its answer."""
        try:
            return await self._energy.settle(taken, cost)
        except EnergyError as error:
            log.warning("Cannot settle the energy of a run: %s", error)
            return taken.level

    async def _blocked(self, code: str) -> NotRun | None:
        for finding in await self._guard.inspect(code) if self._guard is not None else ():
            return NotRun(blocked(finding))
        return None
