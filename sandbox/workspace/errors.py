"""What the caller of a workspace may have to handle. What the agent's code is told are `ToolError`s."""

from __future__ import annotations

from ..contracts import SandboxError


class WorkspaceError(SandboxError):
    """The folder cannot be used, or a commit failed. Unless the message says otherwise, nothing has changed."""


class WorkspaceConflict(WorkspaceError):
    """The folder is no longer what the run saw, so that its changes were not made."""


def conflict(path: tuple[str, ...], what: str) -> WorkspaceConflict:
    return WorkspaceConflict(f'Cannot commit: "{"/".join(path)}" {what}; nothing has changed')


class WorkspaceBusy(WorkspaceError):
    """Another process holds the folder's lock."""
