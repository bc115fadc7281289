"""Questions of one run: asks them, hears their answers, and waits for those that are not there yet."""

from __future__ import annotations

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import anyio
from anyio.to_thread import run_sync as in_thread

from cortex.tools import DECISION, PLAN, Decision, Question, can_be_asked

from .agent_desk import AgentQuestion
from .answers import AGENT, APPROVAL, Approve, Reject, Replan, Value, ended_by, is_agent, new_plan, said_of
from .journal import DecisionRow, JournalError, TaskRow
from .plan import PlanError, input_hash
from .plan_text import told_plan
from .progress import finished_of
from .proposals import ASKED, plan_policy
from .questions import question_about_plan, question_about_unknown, question_of
from .reach import require_within
from .tasks import DecisionTask

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .plan import Plan
    from .progress import Standing
    from .run_record import RunRecord
    from .tasks import Task

log = logging.getLogger("motor_cortex")

MAX_APPROVAL_S = 30 * 86_400
"""When this time is over, the plan of an agent is not approved."""


class Asking:
    """Asks what a run has to ask, each question once in this process."""

    def __init__(self, record: RunRecord, asked: set[str]) -> None:
        self._record = record
        self._parts = record.parts
        self._asked_owner = asked
        self._waits_for: list[str] = []

    async def questions_of(self, stands: Standing) -> list[DecisionRow]:
        """The questions that come up now, to be saved."""
        record = self._record
        finished, now = finished_of(record.tasks), self._parts.now()
        show = self._parts.services.redactor.text
        asked = await in_thread(lambda: [question_of(task, finished, record.id, now, show) for task in stands.to_ask])
        for question in asked:
            record.event("decision_asked", task=question.task, shown_hash=question.shown_hash, by=question.kind)
        return asked

    async def about_unknown(self, task: Task, row: TaskRow) -> DecisionRow:
        """The question about a task of unknown end, to be saved."""
        record = self._record
        finished = finished_of(record.tasks)
        show = self._parts.services.redactor.text
        asks = partial(question_about_unknown, task, row, finished, record.plan, record.id, self._parts.now(), show)
        question = await in_thread(asks)
        record.event("decision_asked", task=task.id, shown_hash=question.shown_hash, by="owner")
        return question

    async def ask_approval(self, by: str) -> None:
        """Ask about a plan that an agent or a client proposes, unless that was done. Nothing of it begins before."""
        record, parts = self._record, self._parts
        if not is_agent(by) or APPROVAL in record.questions:
            return
        told = await in_thread(
            lambda: told_plan(record.plan, parts.services.settings, folders=parts.folders, policy=parts.policy)
        )
        question = question_about_plan(told, record.id, parts.now(), by)
        record.event("decision_asked", task=APPROVAL, shown_hash=question.shown_hash, by="owner")
        await record.save(decisions=[question])
        if plan_policy(parts.services) == "allow":
            await self._answer(question, Approve(), "policy")

    # Answers

    async def hear_answers(self) -> None:
        """Save what comes of each answer that was not heard yet."""
        record = self._record
        if any(question.said is None for question in record.questions.values()):
            await self._say_no_to_late_ones()
            await record.load()
        for question in list(record.questions.values()):
            row = record.tasks.get(question.task)
            if question.task == APPROVAL and question.said is not None and row is None:
                await self._hear_approval(question)
            if question.said is None or question.task not in {task.id for task in record.plan.tasks}:
                continue
            if row is not None and row.status == "unknown":
                await self._hear_about_unknown(question, row)
            elif isinstance(record.plan.task(question.task), DecisionTask) and (row is None or row.finished is None):
                await self._hear(question)
            if record.is_over:
                return

    async def _hear(self, question: DecisionRow) -> None:
        record = self._record
        said = said_of(question.said or {})
        row = ended_by(question, said, 1, self._parts.now())
        plan: Plan | None = None
        if isinstance(said, Replan):
            try:
                plan = await self._replanned(said, question.by)
                record.event("replanned", task=question.task, plan_hash=plan.hash, revision=record.revision + 1)
            except PlanError as error:
                problem = {"type": "PlanError", "message": str(error)[:2_000]}
                row = replace(row, status="failed", result=None, error=problem)
        record.event("decision_answered", task=question.task, answer=said.answer, by=question.by)
        finished, task = finished_of(record.tasks), record.plan.task(question.task)
        row = replace(row, input_hash=await in_thread(lambda: input_hash(task, record.plan, finished)))
        await record.save(tasks=[row], plan=plan, status="running")

    async def _replanned(self, said: Replan, by: str) -> Plan:
        record = self._record
        given = (said, record.plan, record.tasks, record.questions, record.revision)
        plan = await in_thread(lambda: new_plan(*given))
        if is_agent(by):
            await in_thread(require_within, record.plan, said, plan, self._parts.policy)
        return plan

    async def _hear_approval(self, question: DecisionRow) -> None:
        record, said = self._record, said_of(question.said or {})
        record.event("decision_answered", task=APPROVAL, answer=said.answer, by=question.by)
        if isinstance(said, Approve) and not is_agent(question.by):
            await record.save(tasks=[ended_by(question, said, 1, self._parts.now())], status="running")
            return
        reason = said.reason if isinstance(said, Reject) else ""
        await record.end("aborted", f"the plan was not approved{f': {reason}' if reason else ''}", by=question.by)

    async def _hear_about_unknown(self, question: DecisionRow, row: TaskRow) -> None:
        record, now = self._record, self._parts.now()
        said = said_of(question.said or {})
        record.event("decision_answered", task=question.task, answer=said.answer, by=question.by)
        match said:
            case Approve():
                await record.save(tasks=[TaskRow(row.id, "pending", row.attempt + 1, started_at=now)], status="running")
            case Value(value=value):
                record.event("task_completed", task=row.id, attempt=row.attempt, by=question.by)
                done = replace(row, status="ok", result=value, error=None, ended_at=now)
                await record.save(tasks=[done], status="running")
            case Reject(reason=reason):
                why = f'nobody knows whether task "{row.id}" took effect: {reason or "aborted by the answer"}'
                await record.end("aborted", why, by=question.by)
            case Replan():
                raise JournalError(f'the question about task "{row.id}" has an answer that does not fit')

    async def _say_no_to_late_ones(self) -> None:
        now = self._parts.now()
        for question in self._record.questions.values():
            at = self._too_late_at(question)
            if question.said is None and at is not None and at <= now:
                await self._answer(question, Reject(reason="nobody answered in time"), "timeout")

    def _too_late_at(self, question: DecisionRow) -> float | None:
        task = next((task for task in self._record.plan.tasks if task.id == question.task), None)
        limit = task.timeout_s if isinstance(task, DecisionTask) else None
        if question.task == APPROVAL:
            limit = MAX_APPROVAL_S
        return None if limit is None else question.asked_at + limit

    async def _answer(self, question: DecisionRow, said: Approve | Reject, by: str) -> None:
        about = (self._record.id, question.task, said.model_dump(mode="json"))
        shown, now = question.shown_hash, self._parts.now()
        await in_thread(partial(self._parts.journal.answer, *about, shown_hash=shown, by=by, now=now))

    # Waiting

    async def wait(self, stands: Standing) -> float | None:
        """Save the questions that come up now, and that the run waits for answers. Returns when the first of them is
        too late; None for never."""
        asked = await self.questions_of(stands)
        questions = [*(self._record.questions[id_] for id_ in stands.asked), *asked]
        late = [self._too_late_at(question) for question in questions]
        wake_at = min((at for at in late if at is not None), default=None)
        if any(question.kind == AGENT for question in asked):
            await self._record.save(decisions=asked)  # first: the agent may answer before the next step is saved
            asked = []
        self._waits_for = [question.task for question in questions]
        reason = ASKED if self._waits_for == [APPROVAL] else self._whom_it_waits_for(questions)
        self._record.event("run_waiting", tasks=self._waits_for, reason=reason)
        await self._record.save(decisions=asked, status="waiting", reason=reason, wake_at=wake_at)
        return wake_at

    def _whom_it_waits_for(self, questions: Sequence[DecisionRow]) -> str:
        """Puts the questions to the agent, too: the reason says where that is not possible."""
        record = self._record
        reason = f"it waits for an answer to: {', '.join(self._waits_for)[:500]}"
        for question in [question for question in questions if question.kind == AGENT]:
            task = record.plan.task(question.task)
            may_replan = isinstance(task, DecisionTask) and task.may_replan
            about = (record.id, question.task, record.plan.name, question.shown, question.shown_hash)
            refusal = self._parts.ask_agent(AgentQuestion(*about, may_replan))
            said = refusal or "asked; its owner can answer, too"
            reason += f"; {question.task} is for the agent ({said})"
        return reason

    async def ask_owner(self) -> bool:
        """Ask an owner who is there what the run waits for, each question once. Whether there is an answer."""
        if not can_be_asked(self._parts.services.owner):
            return False
        has_answer = False
        for id_ in self._waits_for:
            question = self._record.questions[id_]
            if question.kind != "owner" or question.shown_hash in self._asked_owner:
                continue
            self._asked_owner.add(question.shown_hash)
            decision = await self._decision_of_owner(question)
            if not isinstance(decision, Decision) or not decision.is_answer:
                continue  # it waits for another way to answer
            no = Reject(reason=str(decision.reason)[:500])
            await self._answer(question, Approve() if decision.allowed is True else no, "owner")
            has_answer = True
        return has_answer

    async def _decision_of_owner(self, question: DecisionRow) -> object:
        services = self._parts.services
        asked = {
            "run": self._record.id,
            "task": question.task,
            "shown": question.shown,
            "hash": question.shown_hash,
        }
        about = Question(PLAN, asked, "model") if question.task == APPROVAL else Question(DECISION, asked, "workflow")
        with anyio.move_on_after(services.settings.tools.owner_timeout_s):
            async with services.asking:
                try:
                    return await services.owner.decide(about)
                except Exception:
                    log.exception("The owner could not be asked")
        return None
