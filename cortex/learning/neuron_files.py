"""The folders that owners grant to neurons: checked when they are granted and whenever a neuron starts, and changed
only after all that allows it was looked at again."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from cortex.audit import AuditError
from cortex.turn import Folder, commit_changes, facts_of_changes, needs_eyes
from neurons import FileGrant, NeuronError, Refused, granted_files
from sandbox import SandboxUnavailable, Workspace, WorkspaceError

if TYPE_CHECKING:
    from neurons import Neuron, Pipeline, Record
    from sandbox import Changes

log = logging.getLogger("motor_cortex")

_ENDED = "its permission for files has ended"
_ONLY_READ = "it may only read"
_NEEDS_EYES = (
    "it would change what another program runs by itself, as git does, or a file of the cortex: only an owner who "
    "looks may allow that, and nobody can be asked"
)
_KILLED = "the kill switch is on"


def file_grant(folder: Path | str, home: Path, *, write: bool = False) -> FileGrant:
    """The folder as it is granted to a neuron. Raises Refused for one that cannot be used, or that the home of the
    cortex lies in."""
    try:
        place = os.path.realpath(folder, strict=True)
        Folder(place, "auto").require_apart(home)
        return FileGrant(folder=place, write=write)
    except (WorkspaceError, ValueError) as error:
        raise Refused(str(error)) from error
    except OSError as error:
        raise Refused(f'Cannot use "{folder}" as a workspace: {error.strerror}') from error


class NeuronFolders:
    """`neurons.LentFolders` on a home. `own` are files that no neuron changes: they decide what the cortex does."""

    def __init__(
        self,
        home: Path,
        pipeline: Pipeline,
        is_killed: Callable[[str | None], bool],
        record: Record,
        own: tuple[Path, ...] = (),
    ) -> None:
        self._home = home
        self._own = own
        self._pipeline = pipeline
        self._is_killed = is_killed
        self._record = record

    def workspace(self, neuron: Neuron) -> Workspace | None:
        grant = granted_files(neuron)
        if grant is None:
            return None
        try:
            # The same checks as when it was granted: links and the home may have changed since.
            now = file_grant(grant.folder, self._home, write=grant.write)
            if now != grant:
                raise SandboxUnavailable(f'"{grant.folder}" leads elsewhere than when it was granted')
            return Workspace(grant.folder, read_only=not grant.write)
        except (Refused, WorkspaceError) as error:
            raise SandboxUnavailable(str(error)) from error

    async def commit(self, neuron: Neuron, changes: Changes) -> str:
        facts = {"neuron": neuron.id, "code_hash": neuron.metadata.code_hash, **await facts_of_changes(changes)}

        def tell(reason: str) -> None:
            self._tell_end(facts, is_made=changes.state == "committed", reason=reason)

        grant = granted_files(neuron)
        return await commit_changes(
            changes,
            "" if grant is None else grant.folder,
            refusal=lambda: self._refusal(neuron, changes),
            killed=lambda: _KILLED if self._is_killed(neuron.id) else None,
            begin=lambda: self._record("files", what="files committing", **facts),
            end=tell,
        )

    async def _refusal(self, neuron: Neuron, changes: Changes) -> str:
        """Why the changes are not to be made; empty if they are."""
        grant = granted_files(neuron)
        if grant is None or not grant.write:
            return _ONLY_READ
        if await needs_eyes(changes, Path(grant.folder), self._own):
            return _NEEDS_EYES
        try:
            # By the document as it is now: the process of a neuron ends a moment after its owner has disabled it.
            granted = await anyio.to_thread.run_sync(self._pipeline.granted, neuron.id)
        except NeuronError as error:
            return str(error)
        return "" if granted == grant else _ENDED

    def _tell_end(self, facts: dict[str, object], *, is_made: bool, reason: str) -> None:
        what = "files committed" if is_made else "files not committed"
        try:
            self._record("files", what=what, **facts, **({"reason": reason} if reason else {}))
        except AuditError as error:
            log.warning("Cannot record what became of the files of a neuron: %s", error)
