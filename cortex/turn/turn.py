"""One turn of an agent: answers the model's tool calls, from a message of the user to the agent's final answer.

The limits of a turn are checked here. Every call gets an answer: one string, never empty. Only a cancellation is
raised.
"""

from __future__ import annotations

import logging
import secrets
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from pydantic_core import to_json

from cortex.audit import AuditError, digest
from cortex.contracts import (
    CoreToolCalled,
    Denied,
    ExecutionCutShort,
    FilesChanged,
    OwnerAnswered,
    Proposed,
    Reason,
    Refused,
    Remembered,
    Said,
    ToolCalled,
    Trace,
    denied,
    failed,
    noted,
    reason_of,
    reason_of_fault,
)
from cortex.energy import EnergyError, energy_note, prices
from cortex.loop import Answer
from cortex.redaction import MAX_VALUE_CHARACTERS, Redactor
from cortex.text import off_loop
from cortex.tools import (
    ARGUMENT_LIMITS,
    CORE_TOOLS,
    LEARNED,
    PLAN,
    Calls,
    Consent,
    arguments_for,
    code_arguments,
    cut,
    object_of,
    pictures_of,
    wire_name,
)
from neurons import StorageError
from sandbox import ErrorType, LockBusy, SandboxError, ToolError, bounded_json

from .code_answer import CodeAnswer, answer_without_result, code_answer, with_displays, with_note
from .consolidate_tool import DraftShown, NotProposed
from .execution import (
    MAX_TEXT,
    Caller,
    HostFailed,
    NotRun,
    Ran,
    RunCount,
    execute,
    intent_of,
    owner_refusal,
    require_acting,
)
from .later import Begun
from .notes import NotesOfTurn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Self, TypeAlias, TypeVar

    from cortex.catalogue import Wish
    from cortex.contracts import CortexEvent, RunCodeIntent, Spanned, Watch
    from cortex.settings import RedactionSettings
    from cortex.tools import Decision, Question, UsableTool
    from sandbox import Displayed

    from .execution import Executed, Services
    from .files import Folder
    from .plans import Answering

    _Answered = TypeVar("_Answered")
    _Run: TypeAlias = Callable[[RunCodeIntent, Wish, Services, Caller], Awaitable[Begun | Executed]]

log = logging.getLogger("motor_cortex")

MAX_SAID = 20_000
MAX_NAME = 100
# Tools that an agent may still call while the kill switch is on: they run nothing.
_HARMLESS = frozenset({"core.energy", "core.say", "core.remember"})
# Arguments of a run that go into the audit log in the model's own words.
_WORDS = ("purpose", "expectedOutput")
# Answers the question that has started the turn, and is there in no other.
_DECIDE = "core.decide"
_WORKFLOW_TOOLS = frozenset({PLAN, _DECIDE})
_CORE_NAMES = {spelling: name for name in (*CORE_TOOLS, _DECIDE) for spelling in (name, wire_name(name))}


class Turn:
    """Answers the calls of one turn, which may come one after the other or at the same time."""

    def __init__(
        self,
        services: Services,
        watch: Watch | None = None,
        redactor: Redactor | None = None,
        conversation: str | None = None,
        folder: Folder | None = None,
        id_: str | None = None,
        answering: Answering | None = None,
    ) -> None:
        """`id_` names the turn in the audit and the ledger; None for a new name. `answering` takes the answer to the
        question that has started the turn, if one has."""
        self._services = services
        self._watch = watch
        self._redactor = services.redactor if redactor is None else redactor
        self.id = secrets.token_hex(8) if id_ is None else id_
        self.said: list[str] = []
        """What the agent said with `core.say`, in order."""
        self.displayed: list[Displayed] = []
        """What code displayed in this turn, and pictures that tools gave the model, in order: without secrets, drawings
        rendered."""
        self._answering = answering
        self._notes = NotesOfTurn(services.notes, self._redactor)
        self._calls = 0
        self._is_open = True
        self._is_named = id_ is not None
        self._span: Spanned | None = None
        self._consent = Consent(
            services.owner,
            services.settings.tools,
            turn=self.id,
            conversation=conversation or "",
            asking=services.asking,
            on_decision=self._on_decision,
            redacted=redacted_apart(services.settings.redaction),
        )
        self._tool_calls = Calls(
            self._consent,
            require=lambda: require_acting(services.switch, services.spine.journal),
            on_call=self._on_call,
            restored=self._restored,
            settings=services.settings.tools,
            redacted=self._shown,
            traced=None if services.tracing is None else services.tracing.tool_calls(self.id),
        )
        most = services.settings.execute.max_calls_per_turn
        too_many = f"core_execute runs at most {most} times in a turn; answer with what you have"
        self._caller = Caller(
            self.id,
            RunCount(most, too_many),
            self._consent,
            self._tool_calls,
            self._shown_long,
            self._announce,
            conversation,
            folder,
            redactor=self._redactor,
        )

    @property
    def caller(self) -> Caller:
        """This turn as the one who asks for executions: for code that calls `execute` itself."""
        return self._caller

    async def __aenter__(self) -> Self:
        # The task of a workflow has a name already, and is no turn of an agent.
        if self._services.tracing is not None and not self._is_named:
            self._span = self._services.tracing.turn(self.id, self._caller.conversation)
            self._span.__enter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        self._is_open = False
        if self._span is not None:
            self._span.__exit__(*(exc or (None, None, None)))
        # A turn that was cancelled may not have passed its last answer on.
        self._notes.settle(arrived=exc[:1] in {(), (None,)})

    async def call(self, name: str, arguments: Any = None) -> str:
        """Call a tool; return the answer as the one string that a model reads. Takes names with dots and wire names. A
        note, such as that of a habit, comes once, below the answer and an empty line."""
        answer, note = await self._with_note(self._answer_call(name, arguments))
        return answer.text if note is None else noted(answer.text, note)

    async def answer(self, name: str, arguments: Any = None) -> Answer:
        """Like `call`, with the note apart, which a loop may tell the model beside the answer: also what energy is
        left, where that is little."""
        answer, note = await self._with_note(self._answer_call(name, arguments, with_note=True))
        if note is None:
            return answer
        return replace(answer, note=note if answer.note is None else f"{answer.note}\n{note}")

    async def _with_note(self, answering: Awaitable[_Answered]) -> tuple[_Answered, str | None]:
        """The answer, and the next note for the model, if there is one."""
        # Another call shows that the answers before it have arrived.
        self._notes.settle(arrived=True)
        answer = await answering
        return answer, await self._notes.next() if self._is_open else None

    async def execute_code(self, arguments: Any = None) -> CodeAnswer:
        """Run code like `core.execute`, for a program: with a context, narrower limits, and a structured answer."""
        answer, note = await self._with_note(self._code_answer(arguments))
        return answer if note is None else with_note(answer, note)

    async def _code_answer(self, arguments: Any) -> CodeAnswer:
        self._calls += 1
        try:
            self._require_open()
            has_files = self._caller.folder is not None
            given = code_arguments(arguments, self._services.settings, files=has_files)
            with self._traced("core.execute"):
                done = await self._run_code(given, self._calls, execute)
        except Exception as error:  # noqa: BLE001 - as below
            return answer_without_result(self._fault("core.execute", error))
        assert not isinstance(done, Begun)
        if isinstance(done, Reason):
            return answer_without_result(done)
        size = len(done.reply) + sum(len(entry.text) for entry in done.outcome.logs)
        files = None if done.files is None else done.files.structured
        answer = await off_loop(size, code_answer, done.outcome, done.reply, self._redactor, files)
        return with_displays(answer, done.displayed)

    async def show_job(self, handle: str) -> tuple[Displayed, ...]:
        """Show what a job of this conversation displayed, once it has ended, as part of this turn: for the turn that
        the end of the job starts. Nothing for any other handle."""
        later = self._services.later
        if later is None:
            return ()
        try:
            shown = (await later.look(handle, self._caller.conversation)).displayed
        except (OSError, StorageError, LockBusy) as error:
            log.warning("Cannot read what a job displayed: %s", error)
            return ()
        self.displayed.extend(shown)
        return shown

    async def _answer_call(self, name: str, arguments: Any, *, with_note: bool = False) -> Answer:
        with self._traced(_CORE_NAMES.get(name) if isinstance(name, str) else None):
            return await self._answer_untraced(name, arguments, with_note=with_note)

    def _traced(self, core_tool: str | None) -> Spanned:
        """The span of a call of a core tool; other tools have theirs where they are called."""
        tracing = self._services.tracing
        return nullcontext() if tracing is None or core_tool is None else tracing.call(core_tool)

    async def _answer_untraced(self, name: str, arguments: Any, *, with_note: bool = False) -> Answer:
        self._calls += 1
        tool = "?"
        try:
            tool = _named(name)
            self._require_open()
            if tool == "core.execute":
                return await self._answer_execute(arguments, self._calls, with_note)
            answer_it = self._answer_workflow_tool if tool in _WORKFLOW_TOOLS else self._answer_other_tool
            answer = await answer_it(tool, arguments)
        except Exception as error:  # noqa: BLE001 - whatever it is, the model gets an answer, and the log the reason
            return Answer(self._fault(tool, error).text, ok=False)
        return Answer(await self._shown_long(answer.text), ok=answer.ok, displayed=answer.displayed)

    def _require_open(self) -> None:
        if not self._is_open:
            raise SandboxError("This turn has ended")
        self._services.spine.journal.require()

    def _fault(self, tool: str, error: Exception) -> Reason:
        match error:
            case AuditError() | EnergyError() | LockBusy() | SandboxError():
                return self._refused(tool, reason_of(Denied(str(error))))
            case OSError():
                return self._refused(tool, reason_of(Denied(f"The home cannot be written: {error.strerror}")))
            case _:
                return _host_failed(tool, error)

    async def _answer_other_tool(self, name: str, arguments: Any) -> Answer:
        killed = None if name in _HARMLESS else self._services.switch.refusal()
        if killed is not None:
            return self._deny(name, killed)
        if name == "core.consolidate" and self._services.consolidate is None:
            return self._deny(name, "Learning is switched off here; go on without it")
        if name in CORE_TOOLS:
            return await self._answer_core_tool(name, arguments_for(name, arguments))
        own = self._services.toolbox.get(name)
        tool: UsableTool | None = own if own is not None and own.for_model else None
        if own is None and name.startswith(LEARNED):
            [tool] = await self._services.workbench.meant(name)
        if tool is None:
            if self._services.workbench.server_of(name) is not None:
                return self._deny(name, f'"{name}" is for code: await tools.{name}({{…}}) in core_execute')
            known = map(wire_name, (*self._core_names(), *self._names_for_model()))
            return self._deny(name, f'There is no tool "{name}"; there are {", ".join(known)[:1_000]}')
        return await self._answer_host_tool(tool, arguments)

    def _core_names(self) -> list[str]:
        """The core tools that the model gets here."""
        absent = {"core.consolidate"} if self._services.consolidate is None else set()
        if self._services.plans is None or not self._services.settings.workflows.plan:
            absent.add(PLAN)
        if not self._services.workbench.is_searched:
            absent |= {"core.search", "core.describe"}
        return [name for name in CORE_TOOLS if name not in absent]

    def _names_for_model(self) -> list[str]:
        return self._services.toolbox.names_for_model(self._services.settings.tools)

    async def _answer_execute(self, arguments: Any, number: int, with_note: bool) -> Answer:
        given, later = arguments_for("core.execute", arguments), self._services.later
        if later is None and (given.get("later") or "job" in given):
            return self._deny("core.execute", "Nothing runs later here; leave `later` and `job` out")
        if later is not None and "job" in given:
            self._announce(CoreToolCalled("core.execute", self.id, given))
            look = await later.look(given["job"], self._caller.conversation, cancel=given.get("cancel", False))
            self.displayed.extend(look.displayed)
            return Answer(look.text, ok=look.ok, displayed=look.displayed)
        done = await self._run_code(given, number, later.begin if later is not None and given.get("later") else execute)
        if isinstance(done, Reason):
            return Answer(done.text, ok=False)
        note = energy_note(done.level, self._services.settings.energy) if with_note else None
        if isinstance(done, Begun):
            ends = f"({done.handle} runs; the agent goes on when it has ended.)" if done.is_awaited else None
            return Answer(done.reply, note, ends=ends)
        return Answer(done.reply, note, ok=done.outcome.ok, displayed=done.displayed)

    async def _run_code(self, arguments: Mapping[str, Any], number: int, run: _Run) -> Ran | Begun | Reason:
        services = self._services
        # Cut first: the rest is not kept anyway, and the search for secrets is slow.
        words = {name: self._shown(arguments[name][:MAX_TEXT]) for name in _WORDS if name in arguments}
        wish = services.workbench.wish(
            arguments["code"], arguments.get("intent", "")[:MAX_TEXT], tuple(arguments.get("tools", ()))
        )
        waits = services.workbench.may_call_tools(wish, arguments["code"])
        trace = Trace(turn=self.id, call=number)
        limits = services.settings.execute.within(services.settings.sandbox.max_timeout_ms)
        intent = intent_of({**arguments, **words}, limits, trace, waits_for_tools=waits)
        caller, folder = self._caller, self._caller.folder
        if folder is not None and arguments.get("only_reads"):
            caller = replace(caller, folder=replace(folder, commit="never"))
        done = await run(intent, wish, services, caller)
        match done:
            case Ran():
                self.displayed.extend(done.displayed)
                return done
            case NotRun(refusal, code_hash):
                return self._refused("core.execute", reason_of(refusal), intent, code_hash)
            case HostFailed(error):
                # Never a refusal, whatever the error is: the code may have run.
                return _host_failed("core.execute", error)
            case _:
                return done

    def _shown(self, text: str) -> str:
        """The text redacted, for the model and the audit log. For short texts: it runs on the event loop."""
        return self._redactor.text(text)

    async def _shown_long(self, text: str) -> str:
        return await off_loop(len(text), self._redactor.text, text)

    def _restored(self, arguments: Any, written: str | None) -> Any:
        if not self._services.settings.redaction.restore:
            return arguments
        if isinstance(arguments, str):
            # Parse first, then restore: a restored value may hold characters that JSON would have to escape.
            with suppress(ValueError):
                arguments = bounded_json(arguments, ARGUMENT_LIMITS)
        return self._redactor.restored(arguments, written)

    async def _answer_core_tool(self, name: str, arguments: dict[str, Any]) -> Answer:
        """Answer the core tools that run no code."""
        refusal = await owner_refusal(self._consent, name, arguments, arguments.get("purpose", ""))
        if refusal is not None:
            return self._deny(name, refusal.reason)
        match name:
            case "core.energy":
                text = to_json(prices(self._services.energy.level(), self._services.settings.energy)).decode()
            case "core.search":
                text = await self._search(arguments["query"])
            case "core.describe":
                text = await self._services.workbench.describe(arguments["tools"])
            case "core.say":
                text = self._say(arguments["text"])
            case "core.remember":
                text = self._remember(arguments["text"])
            case "core.consolidate":
                return await self._consolidate(arguments)
            case _:
                raise AssertionError(f"no core tool is called {name}")
        self._announce(CoreToolCalled(name, self.id, arguments))
        return Answer(text)

    async def _answer_workflow_tool(self, name: str, arguments: Any) -> Answer:
        """Propose a plan, or answer the question that has started this turn."""
        plans, answering = self._services.plans, self._answering
        killed = self._services.switch.refusal()
        if killed is not None:
            return self._deny(name, killed)
        if name == PLAN and plans is None:
            return self._deny(name, "Plans are switched off here; use core_execute")
        if name == _DECIDE and answering is None:
            return self._deny(name, "Nothing is asked in this turn")
        given = object_of(arguments, name, "answer" if name == _DECIDE else None)
        try:
            if name == _DECIDE and answering is not None:
                text = await answering.answer(given)
            elif plans is not None:
                text = await plans.propose(given["plan"] if [*given] == ["plan"] else given, turn=self.id)
        except ToolError as error:
            return self._deny(name, str(error))
        self._announce(CoreToolCalled(name, self.id, given))
        return Answer(text)

    async def _search(self, query: str) -> str:
        workbench = self._services.workbench
        found = await workbench.search(query, self._services.settings.discovery.max_results)
        lines = [f"{tool.name}  {tool.line}  ({tool.score:.2f})" for tool in found]
        troubles = [f"(not there now: {trouble})" for trouble in workbench.troubles()]
        if lines or troubles:
            return "\n".join([*lines, *troubles])
        return "Nothing fits these words: try others." if workbench.is_searched else "There are no functions here."

    async def _consolidate(self, arguments: dict[str, Any]) -> Answer:
        learning = self._services.consolidate
        assert learning is not None
        # Checked again: the owner may have been asked, and may have turned on the kill switch.
        killed = self._services.switch.refusal()
        if killed is not None:
            return self._deny("core.consolidate", killed)
        done = await learning.propose(arguments)
        if isinstance(done, DraftShown):
            self._announce(CoreToolCalled("core.consolidate", self.id, arguments))
            return Answer(done.text)
        if isinstance(done, NotProposed):
            return Answer(self._refused("core.consolidate", done.reason).text, ok=False)
        self._announce(CoreToolCalled("core.consolidate", self.id, arguments))
        neuron = done.neuron
        self._announce(Proposed(neuron.id, neuron.name, neuron.metadata.purpose))
        return Answer(done.text)

    async def _answer_host_tool(self, tool: UsableTool, arguments: Any) -> Answer:
        limits = self._services.settings.tools
        try:
            result = await self._tool_calls.make(tool, arguments, origin="model", timeout_ms=limits.call_timeout_ms)
        except ToolError as error:
            is_refusal = error.code in {"denied", "invalid_arguments"}
            text = denied(str(error)) if is_refusal else failed(ErrorType.TOOL, str(error))
            return Answer(await self._shown_beginning(text.encode(errors="replace"), limits.max_result_bytes), ok=False)
        data, pictures = await off_loop(len(result.data), pictures_of, result)
        self.displayed.extend(pictures)
        return Answer(await self._shown_beginning(data, limits.max_result_bytes), displayed=pictures)

    async def _shown_beginning(self, text: bytes, max_bytes: int) -> str:
        """The beginning of the text, redacted, at most `max_bytes`. Redacted before it is cut: half a secret may not be
        recognized. So the part that is redacted is longer by the longest secret."""
        part = text[: max_bytes + MAX_VALUE_CHARACTERS]
        shown = await self._shown_long(part.decode(errors="ignore"))
        return cut(shown, max_bytes, in_all=None if len(part) == len(text) else len(text))

    def _on_call(self, called: ToolCalled) -> None:
        self._announce(replace(called, turn=self.id))

    def _on_decision(self, question: Question, decision: Decision, shown: dict[str, Any]) -> None:
        self._announce(owner_answered(question, decision, shown))

    def _say(self, text: str) -> str:
        text = cut(text, MAX_SAID)
        self.said.append(text)
        self._announce(Said(text))
        return "Said."

    def _remember(self, text: str) -> str:
        # Without the numbers of tokens: in another conversation the same token stands for another value.
        self._services.memory.remember(self._redactor.without_numbers(text))
        self._announce(Remembered(text))
        return "Remembered."

    def refuse(self, tool: str, reply: str) -> Answer:
        """Record a call that the loop itself refuses, and return its answer."""
        tool, reply = self._shown(tool), self._shown(reply)
        self._announce(Refused(tool, reply, turn=self.id))
        return Answer(reply, ok=False)

    def _deny(self, tool: str, why: str) -> Answer:
        return Answer(self._refused(tool, reason_of(Denied(why))).text, ok=False)

    def _refused(
        self, tool: str, reason: Reason, intent: RunCodeIntent | None = None, code_hash: str | None = None
    ) -> Reason:
        tool, shown = self._shown(tool), Reason(reason.code, self._shown(reason.message))
        self._announce(Refused(tool, shown.text, intent, self.id, code_hash))
        return shown

    def _announce(self, event: CortexEvent) -> None:
        # A job goes on after its turn: the audit and the listeners still hear of it, the watcher of the turn does not.
        is_told = self._is_open and not isinstance(
            event, CoreToolCalled | OwnerAnswered | ExecutionCutShort | FilesChanged
        )
        self._services.spine.announce(event, self._watch if is_told else None)


def redacted_apart(settings: RedactionSettings) -> Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]:
    """What the owner is asked about, for listeners and for what is kept. With a redactor of its own each time: in that
    of the conversation, a secret of a file would get a token that the model can name."""

    async def redacted(arguments: dict[str, Any]) -> dict[str, Any]:
        return await anyio.to_thread.run_sync(Redactor(settings).value, arguments, abandon_on_cancel=True)

    return redacted


def owner_answered(question: Question, decision: Decision, shown: dict[str, Any]) -> OwnerAnswered:
    """The decision as listeners hear it, with the arguments without secrets."""
    hashed = digest(question.arguments)
    by = (question.tool, question.origin, decision.allowed, decision.reason, question.turn)
    return OwnerAnswered(*by, shown, hashed, decision.by)


def _host_failed(tool: str, error: Exception) -> Reason:
    log.error('The host failed to answer "%s"', tool, exc_info=error)
    return reason_of_fault(error)


def _named(name: Any) -> str:
    """The name with dots of a core tool, in either spelling; any other name shortened, to be shown in a refusal."""
    shown = str(name)[:MAX_NAME].encode(errors="replace").decode()
    return _CORE_NAMES.get(shown, shown)
