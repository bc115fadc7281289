"""The exceptions that the caller of a workspace may have to handle. The agent's code gets `ToolError`s instead."""

from __future__ import annotations

from ..contracts import SandboxError


class WorkspaceError(SandboxError):
    """The folder cannot be used, or a commit failed. Unless the message says otherwise, nothing has changed."""


class WorkspaceConflict(WorkspaceError):
    """The folder has changed since the run saw it, so the run's changes were not made."""


def conflict(path: tuple[str, ...], what: str) -> WorkspaceConflict:
    return WorkspaceConflict(f'Cannot commit: "{"/".join(path)}" {what}; nothing has changed')


class WorkspaceBusy(WorkspaceError):
    """Another process holds the folder's lock."""
