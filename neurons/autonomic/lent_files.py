"""Lends a neuron the folder that the owner let it use, and commits what a signal that succeeded would change.

A module of its own: the nerve delivers signals, and nothing else in it knows of files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from sandbox import ErrorType, ExecutionError, SandboxUnavailable, SignalAnswer

from .tally import error_of

if TYPE_CHECKING:
    from sandbox import BatchAnswer, Workspace

    from ..contracts import LentFolders, Neuron


async def lent_workspace(neuron: Neuron, folders: LentFolders | None, timeout_s: float) -> Workspace:
    """The folder of a neuron with files. Raises SandboxUnavailable where it cannot be lent."""
    found = None
    if folders is not None:
        with anyio.fail_after(timeout_s):
            found = await anyio.to_thread.run_sync(folders.workspace, neuron, abandon_on_cancel=True)
    if found is None:
        # Without its files it would do half of what was approved, and pass its trial with that.
        raise SandboxUnavailable("its folder cannot be lent here")
    return found


async def committed(
    neuron: Neuron, folders: LentFolders | None, answer: BatchAnswer, state_before: dict[str, Any]
) -> BatchAnswer:
    """Commit what a signal that succeeded would change. If that is not possible, the signal has failed: it has emitted
    nothing, and the state is as before."""
    answered = answer.answers[0]
    if not answered.changes or folders is None:
        return answer
    if error_of(neuron, answered) is not None:
        answered.changes.rollback()
        return answer
    reason = await folders.commit(neuron, answered.changes)
    if not reason:
        return answer
    failed = SignalAnswer(ok=False, error=ExecutionError(ErrorType.RUNTIME, f"Files not written: {reason}"))
    return replace(answer, answers=(failed,), state=dict(state_before))
