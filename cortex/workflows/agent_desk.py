"""Questions of runs to the agent: each starts one turn, and is answered there with a tool that is made for it alone."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from cortex.audit import AuditError
from cortex.text import bounded
from cortex.tools import ToolDefinition, invalid
from cortex.turn import WORKFLOW_QUESTION
from neurons import Signal
from sandbox import ToolError

from .answers import said_of
from .dispatch import DispatchFull
from .journal import JournalError, WorkflowError
from .plan import PlanError

if TYPE_CHECKING:
    from cortex.settings import Settings
    from neurons import Wake

    from .workflows import Workflows

log = logging.getLogger("motor_cortex")

MAX_WAITING = 100
MAX_QUESTION_CHARACTERS = 20_000
MARGIN_S = 60.0
"""A turn has a clock of its own. This much longer, and the next question is put."""
HOUR_S = 3_600.0
NO_AGENT = "no agent is here; resume the run where one is, or answer as its owner"
DECIDE = "core.decide"

_TEXT = {"type": "string"}
_ANSWERS = "Answer the question of the run that started this turn. The first answer counts."
_NEW_TASKS = {"type": "array", "items": {"type": "object"}, "description": "With replan: tasks, as the plan has them"}


@dataclass(frozen=True, slots=True)
class AgentQuestion:
    """One question of one run. `shown` is redacted."""

    run: str
    task: str
    plan: str
    shown: str
    shown_hash: str
    may_replan: bool

    def signal(self, at: float) -> Signal:
        """The event that starts the turn."""
        data = {
            "run": self.run,
            "task": self.task,
            "plan": self.plan,
            "question": bounded(self.shown, MAX_QUESTION_CHARACTERS),
            "hash": self.shown_hash,
            "mayReplan": self.may_replan,
        }
        return Signal(WORKFLOW_QUESTION, "cortex", data, at=at)


class AgentDesk:
    """Puts questions to the agent, one after the other, each once: one turn, and no more in an hour than its owner
    lets signals start."""

    def __init__(
        self,
        wake: Wake | None,
        settings: Settings,
        now: Callable[[], float],
        is_open: Callable[[AgentQuestion], Awaitable[bool]],
    ) -> None:
        """`is_open` returns whether a question still waits for its answer, and may be put."""
        self._wake = wake
        self._settings = settings
        self._now = now
        self._is_open = is_open
        self._put: set[str] = set()
        self._waiting: deque[AgentQuestion] = deque()
        self._news = anyio.Event()
        self._wakes: list[float] = []

    def ask(self, question: AgentQuestion) -> str:
        """Put the question, unless that was done already; returns why it cannot be put, or nothing. Never waits."""
        if self._wake is None:
            return NO_AGENT
        if question.shown_hash in self._put:
            return ""
        now = self._now()
        self._wakes = [at for at in self._wakes if 0 <= now - at < HOUR_S]
        if len(self._wakes) >= self._settings.neurons.max_wakes_per_hour or len(self._waiting) >= MAX_WAITING:
            return "the agent was woken often enough this hour; resume the run later, or answer as its owner"
        self._wakes.append(now)
        self._put.add(question.shown_hash)
        self._waiting.append(question)
        self._news.set()
        return ""

    async def work(self) -> None:
        """Put the questions until cancelled."""
        while True:
            self._news = anyio.Event()
            while self._waiting and self._wake is not None:
                question = self._waiting.popleft()
                try:
                    with anyio.move_on_after(self._settings.loop.max_turn_s + MARGIN_S):
                        if not await self._is_open(question):
                            continue
                        await self._wake(question.signal(self._now()))
                except Exception:
                    log.exception("A question of run %s could not be put to the agent", question.run)
            await self._news.wait()


class QuestionAnswering:
    """A `cortex.turn.Answering`: the answer to the question that a signal brought."""

    def __init__(self, flows: Workflows, data: Mapping[str, Any]) -> None:
        self._flows = flows
        self._run, self._task, self._hash = (str(data.get(name, "")) for name in ("run", "task", "hash"))
        self._may_replan = data.get("mayReplan") is True

    @property
    def definition(self) -> ToolDefinition:
        return decide_definition(may_replan=self._may_replan)

    async def answer(self, given: dict[str, Any]) -> str:
        """Keep the answer. Raises ToolError."""
        kept = {name: value for name, value in given.items() if value is not None or name == "value"}
        if kept.get("answer") != "value":
            kept.pop("value", None)
        try:
            said = said_of(kept)
            await self._flows.decide_as_agent(self._run, self._task, said, shown_hash=self._hash)
        except (JournalError, WorkflowError) as error:
            raise invalid(f"The answer was not taken: {error}") from error
        except PlanError as error:
            raise invalid(f"The answer was not taken: {error}. Answer again") from error
        except (AuditError, DispatchFull) as error:
            raise ToolError(str(error), code="denied") from error
        return f"Run {self._run} has your answer: {said.answer}. It goes on without you."


def decide_definition(*, may_replan: bool) -> ToolDefinition:
    """`core.decide`, which is offered only in the turn of a question."""
    answers = ["approve", "reject", "value", *(["replan"] if may_replan else [])]
    properties: dict[str, Any] = {
        "answer": {"enum": answers},
        "reason": {**_TEXT, "description": "With reject"},
        "value": {"description": "With value: any JSON"},
    }
    if may_replan:
        properties |= {"add": _NEW_TASKS, "remove": {"type": "array", "items": _TEXT}}
    schema = {"type": "object", "properties": properties, "required": ["answer"], "additionalProperties": False}
    return ToolDefinition(DECIDE, _ANSWERS, schema)
