"""One turn of an agent: answers the model's tool calls between a user message and the agent's last word on it.

Limits per turn live here. Every call gets an answer that is one string and never empty; nothing is raised but a
cancellation.
"""

from __future__ import annotations

import logging
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from cortex.audit import AuditError
from cortex.catalogue import Wish
from cortex.contracts import Proposed, Refused, Remembered, Said, ToolCalled, Trace, denied, failed
from cortex.energy import EnergyError, energy_note, prices
from cortex.loop import Answer
from cortex.redaction import MAX_VALUE_CHARACTERS
from cortex.text import off_loop
from cortex.tools import CORE_TOOLS, LIMITS, Calls, Consent, arguments_for, code_arguments, cut, wire_name
from sandbox import ErrorType, LockBusy, SandboxError, ToolError, bounded_json

from .acting import require_acting
from .code_answer import CodeAnswer, code_answer, refused_answer
from .code_runner import CodeRunner, HostFailed, owner_refusal
from .consolidate_tool import NotProposed
from .execute_tool import MAX_TEXT, NotRun, Ran, intent_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Self

    from cortex.contracts import RunCodeIntent, TurnEvent, Watch
    from cortex.redaction import Redactor
    from cortex.tools import Origin, Tool

    from .services import Parts

log = logging.getLogger("motor_cortex")

MAX_SAID = 20_000
MAX_NAME = 100
# Tools that an agent may still call while the kill switch is on: they run nothing.
_HARMLESS = frozenset({"core.energy", "core.say", "core.remember"})
# Arguments of a run that go into the audit log in the model's own words.
_WORDS = ("purpose", "expectedOutput")
_CORE_NAMES = {spelling: name for name in CORE_TOOLS for spelling in (name, wire_name(name))}


class Turn:
    """Answers the calls of one turn, which may come one after the other or at the same time."""

    def __init__(self, parts: Parts, watch: Watch | None = None, redactor: Redactor | None = None) -> None:
        self._parts = parts
        self._watch = watch
        self._redactor = parts.redactor if redactor is None else redactor
        self.id = secrets.token_hex(8)
        self.said: list[str] = []
        """What the agent said with `core.say`, in order."""
        self._calls = 0
        self._is_open = True
        self._consent = Consent(
            parts.owner, parts.settings.tools, turn=self.id, asking=parts.asking, on_decision=parts.journal.decision
        )
        self._tool_calls = Calls(
            self._consent,
            require=lambda: require_acting(parts.switch, parts.journal),
            on_call=self._on_call,
            restored=self._restored,
        )
        self._runner = CodeRunner(parts, self._tool_calls, self._consent, self._tell)

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
        """Call a tool; return the answer as the one string that a model reads. Takes names with dots and wire names."""
        return (await self._answered(name, arguments)).text

    async def answer(self, name: str, arguments: Any = None) -> Answer:
        """Like `call`, with a note that a loop may tell the model beside the answer. The hint of a noticed habit comes
        once, with the next answer, whatever that is about."""
        answer = await self._answered(name, arguments)
        hint = None if self._parts.observer is None else self._parts.observer.hint()
        if hint is None:
            return answer
        hint = self._shown(hint)
        return Answer(answer.text, hint if answer.note is None else f"{answer.note}\n{hint}", ok=answer.ok)

    async def execute_code(self, arguments: Any = None) -> CodeAnswer:
        """Like `core.execute`, for a program: takes a context and narrower limits, and answers in parts."""
        self._calls += 1
        parts = self._parts
        try:
            self._require_open()
            given = code_arguments(arguments, parts.settings)
            done, text = await self._run(given, self._calls)
        except Exception as error:  # noqa: BLE001 - as below
            return refused_answer(self._fault("core.execute", error).text)
        if isinstance(done, NotRun):
            return refused_answer(text)
        size = len(text) + sum(len(entry.text) for entry in done.outcome.logs)
        return await off_loop(size, code_answer, done.outcome, text, self._redactor)

    async def _answered(self, name: str, arguments: Any) -> Answer:
        self._calls += 1
        tool = "?"
        try:
            tool = _named(name)
            self._require_open()
            if tool == "core.execute":
                return await self._execute(arguments, self._calls)
            answer = await self._answer(tool, arguments)
        except Exception as error:  # noqa: BLE001 - the model always gets an answer, and the log gets the reason
            return self._fault(tool, error)
        return Answer(await self._shown_long(answer.text), ok=answer.ok)

    def _require_open(self) -> None:
        if not self._is_open:
            raise SandboxError("This turn has ended")
        self._parts.journal.require()

    def _fault(self, tool: str, error: Exception) -> Answer:
        match error:
            case AuditError() | EnergyError() | LockBusy() | SandboxError():
                return self.refuse(tool, denied(str(error)))
            case OSError():
                return self.refuse(tool, denied(f"The home cannot be written: {error.strerror}"))
            case HostFailed():
                return self._failed(tool, error.__cause__ or error)
            case _:
                return self._failed(tool, error)

    async def _answer(self, name: str, arguments: Any) -> Answer:
        killed = None if name in _HARMLESS else self._parts.switch.refusal()
        if killed is not None:
            return self.refuse(name, denied(killed))
        if name == "core.consolidate" and self._parts.consolidate is None:
            return self.refuse(name, denied("Learning is switched off here; go on without it"))
        if name in CORE_TOOLS:
            return await self._call_core(name, arguments_for(name, arguments))
        tool = self._parts.toolbox.get(name)
        if tool is None or not tool.for_model:
            if self._parts.workbench.server_of(name) is not None:
                return self.refuse(name, denied(f'"{name}" is for code: await tools.{name}({{…}}) in core_execute'))
            known = map(wire_name, (*self._core_names(), *self._names_for_model()))
            return self.refuse(name, denied(f'There is no tool "{name}"; there are {", ".join(known)[:1_000]}'))
        return await self._call_tool(tool, arguments)

    def _core_names(self) -> list[str]:
        """The core tools that the model is told of."""
        absent = {"core.consolidate"} if self._parts.consolidate is None else set()
        if not self._parts.workbench.is_searched:
            absent |= {"core.search", "core.describe"}
        return [name for name in CORE_TOOLS if name not in absent]

    def _names_for_model(self) -> list[str]:
        return self._parts.toolbox.names_for_model(self._parts.settings.tools)

    async def _execute(self, arguments: Any, number: int) -> Answer:
        done, text = await self._run(arguments_for("core.execute", arguments), number)
        if isinstance(done, NotRun):
            return Answer(text, ok=False)
        return Answer(text, energy_note(done.level, self._parts.settings.energy), ok=done.outcome.ok)

    async def _run(self, arguments: Mapping[str, Any], number: int) -> tuple[Ran | NotRun, str]:
        parts = self._parts
        # Cut before redaction: longer texts are not kept anyway, and searching them for secrets takes time.
        words = {name: self._shown(arguments[name][:MAX_TEXT]) for name in _WORDS if name in arguments}
        trace = Trace(turn=self.id, call=number)
        wish = Wish(arguments["code"], arguments.get("intent", ""), tuple(arguments.get("tools", ())))
        waits = parts.workbench.may_reach_servers(wish)
        intent = intent_of({**arguments, **words}, parts.settings.execute, trace, waits_for_servers=waits)
        killed = parts.switch.refusal()
        if killed is not None:
            answer = self.refuse("core.execute", denied(killed))
            return NotRun(answer.text), answer.text
        code_hash = parts.journal.keep_code(intent.payload.code, parts.settings.sandbox.max_code_bytes)
        done, text = await self._runner.run(intent, code_hash, self._shown_long)
        if isinstance(done, NotRun):
            self.refuse("core.execute", text, intent, code_hash)
        return done, text

    def _shown(self, text: str) -> str:
        """The text redacted, for the model and the audit log. For short texts: it runs on the event loop."""
        return self._redactor.text(text)

    async def _shown_long(self, text: str) -> str:
        return await off_loop(len(text), self._redactor.text, text)

    def _restored(self, arguments: Any, written: str | None) -> Any:
        if not self._parts.settings.redaction.restore:
            return arguments
        if isinstance(arguments, str):
            # Parse first, then restore: a restored value may hold characters that JSON would have to escape.
            with suppress(ValueError):
                arguments = bounded_json(arguments, LIMITS)
        return self._redactor.restored(arguments, written)

    async def _call_core(self, name: str, arguments: dict[str, Any]) -> Answer:
        """Answer the core tools that run no code."""
        refusal = await owner_refusal(self._consent, name, arguments, arguments.get("purpose", ""))
        if refusal is not None:
            return self.refuse(name, refusal.text)
        match name:
            case "core.energy":
                text = to_json(prices(self._parts.energy.level(), self._parts.settings.energy)).decode()
            case "core.search":
                text = await self._search(arguments["query"])
            case "core.describe":
                text = await self._parts.workbench.describe(arguments["tools"])
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

    async def _search(self, query: str) -> str:
        workbench = self._parts.workbench
        found = await workbench.search(query, self._parts.settings.discovery.max_results)
        lines = [f"{tool.name}  {tool.line}  ({tool.score:.2f})" for tool in found]
        troubles = [f"(not there now: {trouble})" for trouble in workbench.troubles()]
        if lines or troubles:
            return "\n".join([*lines, *troubles])
        return "Nothing fits these words: try others." if workbench.is_searched else "There are no functions here."

    async def _consolidate(self, arguments: dict[str, Any]) -> Answer:
        learning = self._parts.consolidate
        assert learning is not None
        # Check again: the owner may have been asked meanwhile, and have turned the kill switch on.
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
            return Answer(await self._shown_beginning(text.encode(errors="replace"), limits.max_result_bytes), ok=False)
        return Answer(await self._shown_beginning(result.data, limits.max_result_bytes))

    async def _shown_beginning(self, text: bytes, max_bytes: int) -> str:
        """The beginning of the text, redacted, at most `max_bytes`. Redacted before it is cut: half a secret may not be
        recognized. So the part that is redacted is longer by the longest secret."""
        part = text[: max_bytes + MAX_VALUE_CHARACTERS]
        shown = await self._shown_long(part.decode(errors="ignore"))
        return cut(shown, max_bytes, in_all=None if len(part) == len(text) else len(text))

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
        # Tokens lose their numbers: in another conversation the same token stands for another value.
        self._parts.memory.remember(self._redactor.without_numbers(text))
        self._tell(Remembered(text))
        return "Remembered."

    def refuse(
        self, tool: str, reply: str, intent: RunCodeIntent | None = None, code_hash: str | None = None
    ) -> Answer:
        """Record a refusal in the audit log and return it as the answer."""
        tool, reply = self._shown(tool), self._shown(reply)
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
            # A failing watcher must not change the turn.
            log.exception("Whoever watches the turn failed")


def _named(name: Any) -> str:
    """The name with dots of a core tool, in either spelling; any other name shortened, to be shown in a refusal."""
    shown = str(name)[:MAX_NAME].encode(errors="replace").decode()
    return _CORE_NAMES.get(shown, shown)
