"""Executes one run that this process leads: layer by layer, each saved as a whole before the next begins.

What is not saved has not happened: a layer whose checkpoint fails is reported nowhere, and its changes of files are
discarded. Work that must not be repeated is saved as running before it starts; if the process ends then, the owner
decides what becomes of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
from anyio.to_thread import run_sync as in_thread

from .asking import Asking
from .attempt_energy import Budget, key_of, taken_before
from .attempts import Attempts
from .checkpoint import close_if_over, part_overlaps, save_layer, wait_for_files
from .finishing import finish_kept
from .forking import FORKING
from .journal import DecisionRow, Fenced, JournalError, TaskRow
from .layer import LayerResult, LayerRunner, number_of
from .lead import give_up_lead, keep_lead
from .progress import standing
from .run_record import RunRecord
from .tasks import CodeExecutionTask, repeats

if TYPE_CHECKING:
    from cortex.contracts import Watch
    from sandbox import Tier

    from .checkpoint import Pause
    from .journal import Claim, RunRow
    from .progress import Standing
    from .run_record import Parts
    from .tasks import Task


class Executor:
    """Executes one run, for as long as the claim holds."""

    def __init__(self, parts: Parts, claim: Claim, watch: Watch | None = None, asked: set[str] | None = None) -> None:
        self._parts = parts
        self._watch = watch
        self._record = RunRecord(parts, claim)
        self._asking = Asking(self._record, set() if asked is None else asked)
        self.lacking: tuple[Tier, ...] = ()
        """After `run`: the tiers for which the run rests."""

    async def run(self) -> float | None:
        """Go on until the run ends, waits or rests. Returns when to look at it again; None for not by itself. Raises
        Fenced if another process leads it by now, Killed, JournalError, and what is wrong with the host."""
        fault: Exception | None = None
        wake_at: float | None = None
        record = self._record
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(keep_lead, record, tasks.cancel_scope)
                try:
                    wake_at = await self._go_on()
                except Exception as error:  # noqa: BLE001 - raised below: a task group would wrap it
                    fault = error
                tasks.cancel_scope.cancel()
        finally:
            if not (record.is_over or record.is_fenced):
                with anyio.CancelScope(shield=True):
                    await give_up_lead(record)
        if record.is_fenced:
            raise Fenced(f'another process leads run "{record.id}"')
        if fault is not None:
            raise fault
        return wake_at

    async def _go_on(self) -> float | None:
        record = self._record
        run = (await record.load()).run
        if await in_thread(lambda: run.plan.hash) != run.plan_hash:
            raise JournalError(f'the plan of run "{run.id}" is not the one that was saved: it is not resumed')
        if run.reason == FORKING:
            await record.end("failed", "the fork was cut short; fork again")
            return None
        self._prepare(run)
        record.require_acting()
        if not await self._take_over():
            return None
        await self._asking.ask_approval(run.started_by)
        while True:
            record.require_acting()
            await self._asking.hear_answers()
            stands = standing(record.plan, record.tasks, record.questions)
            if record.is_over or await close_if_over(record, stands, record.tasks):
                return None
            if stands.work:
                pause = await self._layer(stands)
                if pause is not None:
                    self.lacking = pause.lacking
                    return pause.wake_at
            else:
                wake_at = await self._asking.wait(stands)
                if not await self._asking.ask_owner():
                    return wake_at

    def _prepare(self, run: RunRow) -> None:
        parts = self._parts
        self._began = run.at
        self._budget = Budget(run.energy_spent, run.energy_budget)
        attempts = Attempts(
            run.id,
            run.plan.name,
            parts.services,
            parts.folders,
            parts.files,
            self._budget,
            self._watch,
            is_repeated=self._record.claim.epoch > 1,
            since=run.at,
        )
        self._runner = LayerRunner(self._record, attempts)

    async def _layer(self, stands: Standing) -> Pause | None:
        record = self._record
        layer = LayerResult(number_of(record.plan, stands.work))
        record.event("layer_started", layer=layer.number, tasks=[task.id for task in stands.work])
        try:
            begun = await self._runner.begin(stands.work)
            await self._runner.run(begun, await self._asking.questions_of(stands), layer)
            self._runner.again |= part_overlaps(record, stands, layer, self._budget)
            return await save_layer(record, stands, layer)
        finally:
            layer.drop_all()

    # What an earlier process left

    async def _take_over(self) -> bool:
        """Settle what was under way when an earlier process ended. Whether the run can go on."""
        record = self._record
        rows: list[TaskRow] = []
        questions: list[DecisionRow] = []
        spent = 0.0
        for row in [row for row in record.tasks.values() if row.status == "running"]:
            task = record.plan.task(row.id)
            if repeats(task):
                rows.append(replace(row, status="pending"))
                continue
            cost = await self._cost_of(task, row.attempt)
            spent += cost
            rows.append(replace(row, status="unknown", cost=cost))
            record.event("task_unknown", task=task.id, attempt=row.attempt)
            questions.append(await self._asking.about_unknown(task, row))
        epoch = record.claim.epoch
        record.event("run_started" if epoch == 1 else "run_resumed", epoch=epoch)
        await record.save(tasks=rows, decisions=questions, status="running", energy_spent=spent)
        self._budget.spent += spent
        return await self._finish_files()

    async def _cost_of(self, task: Task, attempt: int) -> float:
        if not isinstance(task, CodeExecutionTask):
            return 0.0
        key = key_of(self._record.id, task.id, attempt)
        taken = await in_thread(lambda: taken_before(self._parts.services.energy, key, self._began))
        return 0.0 if taken is None else taken.charged

    async def _finish_files(self) -> bool:
        """Make the changes of files whose task is saved, and forget those of others."""
        record, parts = self._record, self._parts
        with anyio.CancelScope(shield=True):
            problem = await finish_kept(parts.files, record.id, record.plan, record.tasks, parts.folders)
        if problem is not None:
            await wait_for_files(record, problem)
        return problem is None
