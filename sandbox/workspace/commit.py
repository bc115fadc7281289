"""Commits the changes of a run to the folder: all of them or none, even after a crash.

First the new files are written beside the old ones, then a journal of the steps, then the steps are done. The next user
of the folder finishes an unfinished commit. A process that takes the lock never sees half a commit.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from .beneath import LIST, TRAVERSE, open_beneath
from .difference import Difference
from .folder import Fact, fact_at, open_folder
from .journal import Step, steps_for
from .leftovers import candidates, open_ours
from .overlay import Dir
from .paths import Parts
from .staging import Checkpoint, Staging, nowhere
from .terms import WorkspaceBusy, WorkspaceConflict, WorkspaceError, conflict

log = logging.getLogger("motor_cortex.sandbox")

_NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


@contextmanager
def locked(root: int, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock of the folder: one commit at a time, also between processes. The kernel releases it when its holder
    dies. Raises WorkspaceBusy at once when another process has it: the caller waits."""
    try:
        fcntl.flock(root, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise WorkspaceBusy("The workspace is being committed to by another run or process") from error
    except OSError as error:
        raise WorkspaceError(f"Cannot lock the workspace: {error.strerror}") from error
    try:
        yield
    finally:
        fcntl.flock(root, fcntl.LOCK_UN)


def prepare(folder: Path, checkpoint: Checkpoint = nowhere) -> int:
    """Open the folder and finish an earlier unfinished commit there; return a descriptor."""
    root = open_folder(folder)
    try:
        with _explained("finish an earlier commit to the workspace"):
            with locked(root, shared=True):
                unfinished = _ours(root)
            if unfinished:
                with locked(root):
                    _recover(root, checkpoint)
    except BaseException:
        os.close(root)
        raise
    return root


def commit(
    folder: Path, identity: tuple[int, int] | None, found: list[Difference], checkpoint: Checkpoint = nowhere
) -> None:
    """Make all changes. Raises WorkspaceError when none was made, and WorkspaceConflict when none should be.

    A failed commit updates `found`, so that the commit can be retried.
    """
    root = open_folder(folder)
    try:
        with _explained("commit to the workspace"), locked(root):
            _recover(root, checkpoint)
            status = os.fstat(root)
            if identity != (status.st_dev, status.st_ino):
                raise WorkspaceConflict(f'Cannot commit: "{folder}" is not the folder any more that the run used')
            _check(root, found)
            with closing(Staging.make(root, checkpoint)) as staging:
                try:
                    _carry_out(staging, _stage(staging, found))
                except (OSError, WorkspaceError):
                    found[:] = [_renewed(root, one, staging.touched) for one in found]
                    raise
    finally:
        os.close(root)


def _carry_out(staging: Staging, steps: Sequence[tuple[Step, Fact | None]]) -> None:
    """Do all steps, or else undo all of them (roll back)."""
    try:
        _forward(staging, steps)
    except (OSError, WorkspaceConflict) as problem:
        try:
            staging.turn_back()
            _back(staging, [step for step, _ in steps])
        except OSError as error:
            raise _unsettled(problem, error) from problem
        _clear(staging)
        raise
    _clear(staging)


def _clear(staging: Staging) -> None:
    """Delete the staging folder. If that fails now, the next user of the folder deletes it."""
    with suppress(OSError):
        staging.remove()


@contextmanager
def _explained(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WorkspaceError(f"Cannot {what}: {error.strerror}; nothing has changed") from error


def _ours(root: int) -> bool:
    """Whether a commit of this user is unfinished. Folders that others left, or planted, are logged and left alone."""
    names = candidates(root)
    others = []
    for name in names:
        here = open_ours(root, name)
        if here is None:
            others.append(name)
        else:
            os.close(here)
    if others:
        log.warning(
            'Left alone "%s" in the workspace (%d in all): no commit of this user has made it', others[0], len(others)
        )
    return len(others) < len(names)


def _recover(root: int, checkpoint: Checkpoint) -> None:
    for name in candidates(root):
        staging = Staging.left_by_us(root, name, checkpoint)
        if staging is not None:
            with closing(staging):
                _finish(staging)


def _finish(staging: Staging) -> None:
    left = staging.left()
    if left is None:
        _clear(staging)  # the commit had not begun
        return
    if left.journal is None:
        # Another user wrote it, or it was copied here: neither obey it nor delete it.
        log.warning('Left alone "%s" in the workspace: its journal is about another folder', staging.name)
        return
    steps, back = left.journal.steps, left.back
    try:
        if not back:
            try:
                _forward(staging, [(step, None) for step in steps])
            except (OSError, WorkspaceConflict):
                staging.turn_back()
                back = True
        if back:
            _back(staging, steps)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return  # another process has moved a folder away: its old files stay in staging until it comes back
        raise
    staging.remove()


def _check(root: int, found: list[Difference]) -> None:
    """Raise WorkspaceConflict unless every path is what the run saw, and every new entry has a folder to go to."""
    going = {one.parts for one in found if one.before is not None}
    coming = {one.parts for one in found if isinstance(one.after, Dir)}
    for one in found:
        now = _now(root, one.parts)
        same = now is None if one.before is None else one.before.is_still(now)
        if not same:
            raise conflict(one.parts, "is not what it was when the run looked at it")
        if one.before is not None and one.before.kind == "folder":
            for name in _names(root, one.parts):
                if (*one.parts, name) not in going:
                    raise conflict((*one.parts, name), "was added to a folder that the run removed")
        above = one.parts[:-1]
        if one.after is not None and above not in coming and not _is_folder(root, above):
            raise conflict(above, "is not a folder any more")


def _now(root: int, parts: Parts) -> Fact | None:
    try:
        return fact_at(root, parts)
    except OSError as error:
        if error.errno in _NOT_THERE:
            return None
        raise


def _renewed(root: int, one: Difference, touched: set[int]) -> Difference:
    """Update `before` of a file that this commit changed and restored, so that a retry is not a conflict."""
    if one.before is None or one.before.inode not in touched:
        return one
    now = None
    with suppress(OSError):
        now = _now(root, one.parts)
    return replace(one, before=now) if one.before.looks_like(now) else one


def _names(root: int, parts: Parts) -> list[str]:
    descriptor = open_beneath(root, parts, LIST)
    try:
        return os.listdir(descriptor)
    finally:
        os.close(descriptor)


def _is_folder(root: int, parts: Parts) -> bool:
    try:
        os.close(open_beneath(root, parts, TRAVERSE))
    except OSError as error:
        if error.errno in _NOT_THERE:
            return False
        raise
    return True


def _stage(staging: Staging, found: list[Difference]) -> list[tuple[Step, Fact | None]]:
    try:
        steps = [(staging.stage(step, one), one.before) for step, one in steps_for(found)]
        staging.begin(step for step, _ in steps)
    except BaseException as problem:
        try:
            staging.forget()
        except OSError as error:
            raise _unsettled(problem, error) from problem
        _clear(staging)
        raise
    return steps


def _forward(staging: Staging, steps: Sequence[tuple[Step, Fact | None]]) -> None:
    for step, before in steps:
        staging.forward(step, before)
    staging.flush(step for step, _ in steps)


def _back(staging: Staging, steps: Sequence[Step]) -> None:
    """Undo all steps, as far as possible. Raises the first OSError only after all steps were tried."""
    problem = None
    for step in reversed(steps):
        try:
            staging.undo(step)
        except OSError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    staging.flush(steps)


def _unsettled(problem: BaseException, error: OSError) -> WorkspaceError:
    message = f"Cannot finish the commit ({problem}), nor undo it now: {error.strerror}"
    return WorkspaceError(f"{message}; it is finished or undone when the workspace is next used")
