"""Finishes what a process left between the checkpoint of a task and the commit of its files.

A module of its own because both a process that takes over a run and a process that aborts one do this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from anyio.to_thread import run_sync as in_thread

from sandbox import SandboxError

from .tasks import CodeExecutionTask

if TYPE_CHECKING:
    from cortex.turn import Folder

    from .journal import TaskRow
    from .kept_files import KeptFiles
    from .plan import Plan


async def finish_kept(
    files: KeptFiles, run: str, plan: Plan, tasks: Mapping[str, TaskRow], folders: Mapping[str, Folder]
) -> str | None:
    """Make the changes of files whose task is saved, and forget those of tasks that are not. Returns what could not be
    written, if anything: that stays kept, until it can be written or the run ends. Raises OSError."""
    problem = None
    for id_, attempt in await in_thread(lambda: list(files.all(run))):
        row = tasks.get(id_)
        if row is not None and row.status == "ok" and row.attempt == attempt and "files" in row.metrics:
            try:
                await _finish(files, run, plan, row, folders)
            except SandboxError as error:
                problem = problem or not_written(id_, error)
                continue
        await in_thread(files.forget, run, id_, attempt)
    if problem is None:
        await in_thread(files.clear, run)
    return problem


def not_written(task: str, error: Exception) -> str:
    """What the owner is told of changes that were saved, and do not fit the folder as it is now."""
    return (
        f'the files of task "{task}" were not written: {error}. Its changes are kept. To do the task again with the '
        f'folder as it is now, fork the run at "{task}"; when nothing is in their way any more, resume it; abort it to '
        "discard them"
    )


async def _finish(files: KeptFiles, run: str, plan: Plan, row: TaskRow, folders: Mapping[str, Folder]) -> None:
    data = await in_thread(files.get, run, row.id, row.attempt)
    task = plan.task(row.id)
    name = task.workspace if isinstance(task, CodeExecutionTask) else None
    folder = None if name is None else folders.get(name)
    if folder is None:
        raise SandboxError("their folder is not granted to workflows any more")
    if data is None:
        return
    if hashlib.sha256(data).hexdigest() != row.metrics["files"].get("kept"):
        # A process that had lost the lead may have kept its own changes under the same name.
        raise SandboxError("what is kept is not what was saved")
    await folder.workspace.finish(data)
