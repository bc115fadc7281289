"""Run the code of one turn: count the runs, lend each its tools, record it in the audit log, and pass it to the
observer of habits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from cortex.catalogue import Wish
from cortex.contracts import ExecutionEnded, ExecutionStarted, denied
from cortex.energy import Insufficient
from cortex.tools import Consent, CoreTool, LentTools, Refused as NotAllowed, policy_of

from .execute_tool import NotRun, Ran

if TYPE_CHECKING:
    from typing import Any

    from cortex.contracts import RunCodeIntent, TurnEvent
    from cortex.energy import Reservation
    from cortex.tools import Calls
    from sandbox import HostTools

    from .observed_run import ObservedRun
    from .services import Parts


_ALWAYS_SHOWN = {"purpose", "code", "tier", "timeout"}
_SHOWN_IF_GIVEN = {"context", "tools", "intent"}


class HostFailed(Exception):
    """The host failed after the energy was taken. The code may have run, so this is no refusal. The cause is the
    reason."""


class CodeRunner:
    def __init__(self, parts: Parts, calls: Calls, consent: Consent, tell: Callable[[TurnEvent], None]) -> None:
        self._parts = parts
        self._calls = calls
        self._consent = consent
        self._tell = tell
        self._runs = 0

    async def run(
        self, intent: RunCodeIntent, code_hash: str, shown: Callable[[str], Awaitable[str]]
    ) -> tuple[Ran | NotRun, str]:
        """Run the code; return the outcome and the reply for the model, which `shown` redacts. Raises HostFailed, and
        what is raised before any energy was taken."""
        parts = self._parts
        limit = parts.settings.execute.max_calls_per_turn
        if self._runs >= limit:
            reason = denied(f"core_execute runs at most {limit} times in a turn; answer with what you have")
            return NotRun(reason), reason
        # Counted before the first await: the calls of one message run at the same time.
        self._runs += 1
        running: list[Reservation] = []

        def started(taken: Reservation) -> None:
            parts.journal.intent(intent, code_hash, taken.cost, taken.level)
            running.append(taken)
            self._tell(ExecutionStarted(intent, taken.level_before, taken.level))

        seen = None if parts.observer is None else parts.observer.begin(intent, code_hash)
        try:
            network = None if seen is None else seen.network(parts.settings.sandbox.network)
            done = await parts.execute.run(
                intent, code_hash, lambda: self._lent(intent, seen), lambda: self._refusal(intent), started, network
            )
        except BaseException as error:
            if not running:
                self._runs -= 1
                raise
            is_fault = isinstance(error, Exception)
            why = "HOST_FAILED" if is_fault else "CANCELLED"
            parts.journal.unfinished(intent, code_hash, why, running[0].charged, running[0].level)
            if not is_fault:
                raise
            raise HostFailed from error
        if isinstance(done, NotRun):
            self._runs -= 1
            return done, await shown(done.text)
        text = await shown(done.text)
        parts.journal.execution(intent, code_hash, done.outcome, text, done.cost, done.level)
        self._tell(ExecutionEnded(intent, done.outcome, text, done.level))
        if seen is not None and parts.observer is not None:
            parts.observer.ended(seen, done.outcome)
        return done, text

    async def _lent(self, intent: RunCodeIntent, seen: ObservedRun | None) -> HostTools:
        payload = intent.payload
        tools = await self._parts.workbench.grant(Wish(payload.code, payload.intent, payload.tools))
        lent = LentTools(tools, self._calls, purpose=payload.purpose, code=payload.code)
        return lent if seen is None else seen.tools(lent)

    async def _refusal(self, intent: RunCodeIntent) -> NotRun | None:
        parts = self._parts
        if policy_of(CoreTool("core.execute"), parts.settings.tools) == "allow":
            return None
        weighed = parts.energy.weigh(intent.payload.tier)
        if isinstance(weighed, Insufficient):
            return NotRun(denied(str(weighed)))  # before the owner is asked in vain
        # The owner is shown the payload that is run, and not the arguments that the model wrote.
        asked = intent.payload.model_dump(mode="json", include=_ALWAYS_SHOWN)
        asked |= intent.payload.model_dump(mode="json", include=_SHOWN_IF_GIVEN, exclude_defaults=True)
        refusal = await owner_refusal(self._consent, "core.execute", asked, intent.payload.purpose)
        # Check again: the owner may have turned the kill switch on before answering.
        killed = parts.switch.refusal()
        return NotRun(denied(killed)) if refusal is None and killed is not None else refusal


async def owner_refusal(consent: Consent, name: str, arguments: dict[str, Any], purpose: str = "") -> NotRun | None:
    """The refusal of a core tool by the owner's policy or answer; None if it is allowed."""
    permission = await consent.of(CoreTool(name), arguments, origin="model", purpose=purpose)
    return NotRun(denied(permission.reason)) if isinstance(permission, NotAllowed) else None
