"""The checkpoint of a layer: one step of the journal with all that came of it, then the commit of its files.

What is not saved has not happened: its changes of files are discarded, and nobody is told of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import anyio
from anyio.to_thread import run_sync as in_thread

from cortex.audit import AuditError
from sandbox import SandboxError

from .finishing import not_written
from .journal import TaskRow
from .progress import standing
from .tasks import CodeExecutionTask, repeats

if TYPE_CHECKING:
    from sandbox import Tier

    from .attempt_energy import Budget
    from .layer import LayerResult
    from .progress import Standing
    from .run_record import RunRecord


@dataclass(frozen=True, slots=True)
class Pause:
    """The run does not go on now. `wake_at` is when to look at it again; None for not by itself."""

    wake_at: float | None = None
    lacking: tuple[Tier, ...] = ()
    """The tiers for which the energy is too low."""


class _Taken:
    """The paths that tasks of one layer have changed in one folder. A task may change a thousand of them, so no path is
    compared with each other one."""

    def __init__(self) -> None:
        self._paths: set[str] = set()
        self._folders: set[str] = set()
        """All folders above those paths."""

    def take(self, paths: set[str]) -> bool:
        """Take the paths, unless one of them is taken, lies in one that is, or holds one."""
        above = {folder for path in paths for folder in _folders_above(path)}
        if not self._paths.isdisjoint(paths | above) or not self._folders.isdisjoint(paths):
            return False
        self._paths |= paths
        self._folders |= above
        return True


def _folders_above(path: str) -> Iterator[str]:
    while (at := path.rfind("/")) > 0:
        path = path[:at]
        yield path


async def save_layer(record: RunRecord, stands: Standing, layer: LayerResult) -> Pause | None:
    """Save the layer as a whole and commit its files; end the run if it was the last. Returns why it does not go on:
    it lacks energy, or files could not be written."""
    record.require_acting()
    rows = [row for task in stands.work for row in _worth_saving(record, layer.rows[task.id])]
    record.tell_also(layer.events)
    saved: dict[str, Any] = {"tasks": rows, "energy_spent": sum(row.cost for row in rows)}
    ended = [task.id for task in stands.work if layer.rows[task.id][-1].finished is not None]
    if len(ended) == len(stands.work):
        record.event("layer_completed", layer=layer.number, tasks=ended)
    record.event("checkpoint_saved", layer=layer.number, tasks=ended)
    rests = _rest(layer, record.parts.now()) if layer.lacking else None
    if rests is not None:
        record.event("run_resting", wake_at=rests.wake_at)
        saved |= {"status": "resting", "reason": _why(layer, rests), "wake_at": rests.wake_at}
    elif not layer.files:
        after = {**record.tasks, **{row.id: row for row in rows}}
        if await close_if_over(record, standing(record.plan, after, record.questions), after, **saved):
            return None
    # As one: what is saved is committed, whoever cancels meanwhile.
    with anyio.CancelScope(shield=True):
        await record.save(**saved)
        problem = await _commit(record, layer)
        if problem is not None:
            await wait_for_files(record, problem)
    return rests if problem is None else Pause()


async def wait_for_files(record: RunRecord, problem: str) -> None:
    """Save that the run waits for the owner: changes that are saved cannot be written."""
    record.event("run_waiting", reason=problem[:2_000])
    await record.save(status="waiting", reason=problem)


def _rest(layer: LayerResult, now: float) -> Pause:
    waits = [lack.wait_s for lack in layer.lacking]
    known = [wait for wait in waits if wait is not None]
    wake_at = None if len(known) < len(waits) else now + max(known)
    return Pause(wake_at, tuple({lack.tier: None for lack in layer.lacking}))


def _why(layer: LayerResult, rests: Pause) -> str:
    said = str(layer.lacking[-1])
    if rests.wake_at is not None:
        return said
    return f"{said} It never recharges so far: top it up, and the run goes on where it was started, or with `resume`"


async def close_if_over(record: RunRecord, stands: Standing, after: Mapping[str, TaskRow], **saved: Any) -> bool:
    """End the run, if it has nothing left to do. `after` has its tasks with those that are saved now. Whether it has
    ended."""
    if stands.failed is not None:
        await record.end("failed", stands.failed, **saved)
    elif stands.is_done:
        rows = [*saved.pop("tasks", ()), *_skipped(record, stands)]
        await record.end("done", _rejections(after), tasks=rows, **saved)
    return record.is_over


def _rejections(tasks: Mapping[str, TaskRow]) -> str:
    said = [
        id_ for id_, row in tasks.items() if row.status == "skipped" and (row.error or {}).get("type") == "Rejected"
    ]
    return f"rejected: {', '.join(said)[:500]}" if said else ""


def _skipped(record: RunRecord, stands: Standing) -> list[TaskRow]:
    now = record.parts.now()
    error = {"type": "Skipped", "message": "a task that it depends on did not succeed"}
    rows = []
    for task in stands.skipped:
        record.event("task_skipped", task=task.id)
        last = record.tasks.get(task.id)
        attempt = 1 if last is None else last.attempt
        rows.append(TaskRow(task.id, "skipped", attempt=attempt, error=error, started_at=now, ended_at=now))
    return rows


def _worth_saving(record: RunRecord, rows: Sequence[TaskRow]) -> list[TaskRow]:
    """All attempts, and a pending one only if the journal has it as running."""
    known = record.tasks.get(rows[0].id)
    return [row for row in rows if row.status != "pending" or (known is not None and known.status == "running")]


def part_overlaps(record: RunRecord, stands: Standing, layer: LayerResult, budget: Budget) -> set[str]:
    """Of two tasks that have changed the same file, the first in the plan counts. The other is done again, with what
    the first wrote before its eyes; or has failed, if it must not be repeated. Returns those that are done again."""
    taken: dict[str, _Taken] = {}
    again: set[str] = set()
    for task in stands.work:
        proposal = layer.files.get(task.id)
        if proposal is None or not isinstance(task, CodeExecutionTask):
            continue
        paths = {change.path.rstrip("/") for change in proposal.changes}
        if taken.setdefault(task.workspace or "", _Taken()).take(paths):
            continue
        layer.drop(task.id)
        row = layer.rows[task.id][-1]
        if repeats(task):
            again.add(task.id)
            layer.rows[task.id][-1] = replace(row, status="pending", result=None, metrics={}, cost=0.0)
            layer.events = [one for one in layer.events if one.data.get("task") != task.id]
            layer.events.append(record.new("task_retried", task=task.id, attempt=row.attempt))
            budget.spent -= row.cost
        else:
            said = "another task of the same layer has changed the same files"
            problem = {"type": "FilesNotWritten", "message": said}
            layer.rows[task.id][-1] = replace(row, status="failed", result=None, error=problem)
    return again


async def _commit(record: RunRecord, layer: LayerResult) -> str | None:
    """Make the changes of the files of a layer that is saved. Returns why some could not be made: they stay kept."""
    problem: str | None = None
    files, announce = record.parts.files, record.parts.services.spine.announce
    for id_, proposal in list(layer.files.items()):
        reason = ""
        try:
            announce(proposal.proposed)
            await proposal.changes.commit()
        except (AuditError, SandboxError) as error:
            reason = str(error)
            problem = problem or not_written(id_, error)
        is_made = proposal.changes.state == "committed"
        state = "committed" if is_made else "not committed"
        announce(replace(proposal.proposed, state=state, reason=reason))  # type: ignore[arg-type]
        if is_made:
            await in_thread(files.forget, record.id, id_, record.tasks[id_].attempt)
    return problem
