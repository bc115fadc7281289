"""One turn of an agent: from a message of the user to the agent's last word on it. Limits per turn live here.

Whatever the model asks for gets an answer that is one string and never empty; nothing is raised but a cancellation.
"""

from __future__ import annotations

import logging
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from sandbox import ErrorType, LockBusy, SandboxError, ToolError

from .acting import require_acting
from .audit import AuditError
from .consolidate_tool import NotProposed
from .energy import EnergyError, Insufficient, energy_note, prices
from .events import ExecutionEnded, ExecutionStarted, Proposed, Refused, Remembered, Said, ToolCalled
from .execute_tool import NotRun, intent_of
from .intents import Trace
from .loop import Answer
from .replies import denied, failed
from .tools import CORE_TOOLS, Calls, Consent, CoreTool, LentTools, arguments_for, cut, policy_of, wire_name
from .tools import Refused as NotAllowed

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    import anyio

    from neurons import KillSwitch
    from sandbox import HostTools, NetworkPolicy

    from .consolidate_tool import ConsolidateTool
    from .energy import EnergyReserve, Reservation
    from .events import TurnEvent, Watch
    from .execute_tool import ExecuteTool
    from .habit_watch import Observer
    from .intents import RunCodeIntent
    from .journal import Journal
    from .memory import Memory
    from .owner import Origin, Owner
    from .settings import Settings
    from .tools import Tool, Toolbox

log = logging.getLogger("motor_cortex")

MAX_SAID = 20_000
MAX_NAME = 100
# What an agent may still do while the kill switch is on: these run nothing.
_HARMLESS = frozenset({"core.energy", "core.say", "core.remember"})
_CORE_NAMES = {spelling: name for name in CORE_TOOLS for spelling in (name, wire_name(name))}


@dataclass(frozen=True, slots=True)
class Parts:
    """What every turn of one cortex shares."""

    settings: Settings
    toolbox: Toolbox
    execute: ExecuteTool
    energy: EnergyReserve
    journal: Journal
    memory: Memory
    owner: Owner
    asking: anyio.Lock
    """One question at a time, of all turns: there is one owner."""
    switch: KillSwitch
    consolidate: ConsolidateTool | None = None
    """None where the agent cannot learn."""
    observer: Observer | None = None
    """Whoever looks for habits in what was run."""


class Turn:
    """What one turn asks for. Its calls may come one after the other or at the same time."""

    def __init__(self, parts: Parts, watch: Watch | None = None) -> None:
        self._parts = parts
        self._watch = watch
        self.id = secrets.token_hex(8)
        self.said: list[str] = []
        """What the agent said with `core.say`, in order."""
        self._calls = 0
        self._executions = 0
        self._is_open = True
        self._consent = Consent(
            parts.owner, parts.settings.tools, turn=self.id, asking=parts.asking, on_decision=parts.journal.decision
        )
        self._tool_calls = Calls(
            self._consent, require=lambda: require_acting(parts.switch, parts.journal), on_call=self._on_call
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._is_open = False

    async def call(self, name: str, arguments: Any = None) -> str:
        """The answer as the one string that a model reads. Names with dots and names from the wire are the same."""
        return (await self._answered(name, arguments)).text

    async def answer(self, name: str, arguments: Any = None) -> Answer:
        """The same, with what a loop may tell the model beside it: a habit that was noticed is told with the next
        answer, whatever that is about, and not again."""
        answer = await self._answered(name, arguments)
        hint = None if self._parts.observer is None else self._parts.observer.hint()
        if hint is None:
            return answer
        return Answer(answer.text, hint if answer.note is None else f"{answer.note}\n{hint}", ok=answer.ok)

    async def _answered(self, name: str, arguments: Any) -> Answer:
        self._calls += 1
        tool = "?"
        try:
            tool = _named(name)
            if not self._is_open:
                return self.refuse(tool, denied("This turn has ended"))
            self._parts.journal.require()
            return await self._answer(tool, arguments, self._calls)
        except (AuditError, EnergyError, LockBusy, SandboxError) as error:
            return self.refuse(tool, denied(str(error)))
        except OSError as error:
            return self.refuse(tool, denied(f"The home cannot be written: {error.strerror}"))
        except Exception as error:  # noqa: BLE001 - whatever it is, the model gets an answer, and the log the reason
            return self._failed(tool, error)

    async def _answer(self, name: str, arguments: Any, number: int) -> Answer:
        killed = None if name in _HARMLESS else self._parts.switch.refusal()
        if killed is not None:
            return self.refuse(name, denied(killed))
        if name == "core.execute":
            return await self._execute(arguments, number)
        if name == "core.consolidate" and self._parts.consolidate is None:
            return self.refuse(name, denied("Learning is switched off here; go on without it"))
        if name in CORE_TOOLS:
            return await self._call_core(name, arguments_for(name, arguments))
        tool = self._parts.toolbox.get(name)
        if tool is None or not tool.for_model:
            core = [name for name in CORE_TOOLS if name != "core.consolidate" or self._parts.consolidate is not None]
            known = map(wire_name, (*core, *self._parts.toolbox.names_for_model(self._parts.settings.tools)))
            return self.refuse(name, denied(f'There is no tool "{name}"; there are {", ".join(known)[:1_000]}'))
        return await self._call_tool(tool, arguments)

    async def _execute(self, arguments: Any, number: int) -> Answer:
        parts = self._parts
        intent = intent_of(
            arguments_for("core.execute", arguments), parts.settings.execute, Trace(turn=self.id, call=number)
        )
        code_hash = parts.journal.keep_code(intent.payload.code, parts.settings.sandbox.max_code_bytes)
        limit = parts.settings.execute.max_calls_per_turn
        if self._executions >= limit:
            reason = f"core_execute runs at most {limit} times in a turn; answer with what you have"
            return self.refuse("core.execute", denied(reason), intent, code_hash)
        # Counted before anything is waited for: calls of one message run at the same time.
        self._executions += 1
        running: list[Reservation] = []

        def started(taken: Reservation) -> None:
            parts.journal.intent(intent, code_hash, taken.cost, taken.level)
            running.append(taken)
            self._tell(ExecutionStarted(intent, taken.level_before, taken.level))

        tools: HostTools = self._lent(intent)
        network: NetworkPolicy | None = None
        seen = None if parts.observer is None else parts.observer.begin(intent, code_hash)
        if seen is not None:
            tools, network = seen.tools(tools), seen.network(parts.settings.sandbox.network)
        try:
            done = await parts.execute.run(intent, code_hash, tools, lambda: self._consented(intent), started, network)
        except BaseException as error:
            if not running:
                self._executions -= 1
                raise
            # It may have run, so it is not refused: it was charged, and is written down as what it is.
            is_fault = isinstance(error, Exception)
            why = "HOST_FAILED" if is_fault else "CANCELLED"
            parts.journal.unfinished(intent, code_hash, why, running[0].charged, running[0].level)
            if not is_fault:
                raise
            return self._failed("core.execute", error)
        if isinstance(done, NotRun):
            self._executions -= 1
            return self.refuse("core.execute", done.text, intent, code_hash)
        text = done.text
        parts.journal.execution(intent, code_hash, done.outcome, text, done.cost, done.level)
        self._tell(ExecutionEnded(intent, done.outcome, text, done.level))
        if seen is not None and parts.observer is not None:
            parts.observer.ended(seen, done.outcome)
        return Answer(text, energy_note(done.level, parts.settings.energy), ok=done.outcome.ok)

    async def _consented(self, intent: RunCodeIntent) -> NotRun | None:
        if policy_of(CoreTool("core.execute"), self._parts.settings.tools) == "allow":
            return None
        weighed = self._parts.energy.weigh(intent.payload.tier)
        if isinstance(weighed, Insufficient):
            return NotRun(denied(str(weighed)))  # nobody is asked in vain
        # What is shown is what is run, and not what the model wrote.
        shown = intent.payload.model_dump(mode="json", include={"purpose", "code", "tier", "timeout"})
        refusal = await self._refusal("core.execute", shown, purpose=intent.payload.purpose)
        # Whoever was asked took time, and may have used it to kill.
        killed = self._parts.switch.refusal()
        return NotRun(denied(killed)) if refusal is None and killed is not None else refusal

    async def _refusal(self, name: str, arguments: dict[str, Any], purpose: str = "") -> NotRun | None:
        """What the owner's policy has against a tool of the cortex itself, if it has."""
        permission = await self._consent.of(CoreTool(name), arguments, origin="model", purpose=purpose)
        return NotRun(denied(permission.reason)) if isinstance(permission, NotAllowed) else None

    async def _call_core(self, name: str, arguments: dict[str, Any]) -> Answer:
        """The tools of the cortex that run nothing."""
        refusal = await self._refusal(name, arguments, purpose=arguments.get("purpose", ""))
        if refusal is not None:
            return self.refuse(name, refusal.text)
        match name:
            case "core.energy":
                text = to_json(prices(self._parts.energy.level(), self._parts.settings.energy)).decode()
            case "core.say":
                text = self._say(arguments["text"])
            case "core.remember":
                text = self._remember(arguments["text"])
            case "core.consolidate":
                return await self._consolidate(arguments)
            case _:
                raise AssertionError(f"nobody answers for {name}")
        self._parts.journal.tool_call(self.id, name, "model", arguments, None, 0.0)
        return Answer(text)

    async def _consolidate(self, arguments: dict[str, Any]) -> Answer:
        learning = self._parts.consolidate
        assert learning is not None
        # Again: the owner may have been asked meanwhile.
        killed = self._parts.switch.refusal()
        done = await learning.propose(arguments) if killed is None else NotProposed(denied(killed))
        if isinstance(done, NotProposed):
            return self.refuse("core.consolidate", done.text)
        self._parts.journal.tool_call(self.id, "core.consolidate", "model", arguments, None, 0.0)
        neuron = done.neuron
        self._tell(Proposed(neuron.id, neuron.name, neuron.metadata.purpose))
        return Answer(done.text)

    async def _call_tool(self, tool: Tool, arguments: Any) -> Answer:
        limits = self._parts.settings.tools
        try:
            result = await self._tool_calls.make(tool, arguments, origin="model", timeout_ms=limits.call_timeout_ms)
        except ToolError as error:
            is_refusal = error.code in {"denied", "invalid_arguments"}
            text = denied(str(error)) if is_refusal else failed(ErrorType.TOOL, str(error))
            return Answer(cut(text, limits.max_result_bytes), ok=False)
        return Answer(cut(result.data.decode(), limits.max_result_bytes))

    def _lent(self, intent: RunCodeIntent) -> LentTools:
        return LentTools(self._parts.toolbox, self._tool_calls, purpose=intent.payload.purpose)

    def _on_call(
        self, origin: Origin, tool: str, arguments: Any, ok: bool, error_code: str | None, duration_ms: float
    ) -> None:
        self._parts.journal.tool_call(self.id, tool, origin, arguments, error_code, duration_ms)
        self._tell(ToolCalled(tool, origin, ok, duration_ms))

    def _say(self, text: str) -> str:
        text = cut(text, MAX_SAID)
        self.said.append(text)
        self._tell(Said(text))
        return "Said."

    def _remember(self, text: str) -> str:
        self._parts.memory.remember(text)
        self._tell(Remembered(text))
        return "Remembered."

    def refuse(
        self, tool: str, reply: str, intent: RunCodeIntent | None = None, code_hash: str | None = None
    ) -> Answer:
        """Write down that something was not done, and why."""
        self._parts.journal.refusal(self.id, tool, reply, intent, code_hash)
        self._tell(Refused(tool, reply, intent))
        return Answer(reply, ok=False)

    def _failed(self, tool: str, error: BaseException) -> Answer:
        log.error('The host failed to answer "%s"', tool, exc_info=error)
        return Answer(failed("InternalError", f"the host failed with {type(error).__name__}"), ok=False)

    def _tell(self, event: TurnEvent) -> None:
        if self._watch is None:
            return
        try:
            self._watch(event)
        except Exception:
            # Whoever looks on must not change what happens.
            log.exception("Whoever watches the turn failed")


def _named(name: Any) -> str:
    """The name with dots, whichever was given; a name that nobody has, bounded, to be shown in a refusal."""
    shown = str(name)[:MAX_NAME].encode(errors="replace").decode()
    return _CORE_NAMES.get(shown, shown)
