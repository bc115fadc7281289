"""The limits that the caller of a workspace sets, and the exceptions that the caller may have to handle.

Each limit has a test that fails when the limit has no effect. The agent's code gets `ToolError`s instead of exceptions.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ..contracts import MIB, SandboxError

NotNegative = Annotated[int, Field(ge=0)]


class WorkspaceLimits(BaseModel):
    """Everything about a workspace that can be set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_file_bytes: NotNegative = 8 * MIB
    """Size of one file, read or written."""
    max_files: NotNegative = 1_000
    """Files and folders that a run may add, change or remove."""
    max_total_bytes: NotNegative = 16 * MIB
    """Everything that the run has written. The host keeps it in memory until the commit."""
    max_calls: NotNegative = 10_000
    max_entries: NotNegative = 10_000
    """Names in one listing of a folder."""


class WorkspaceError(SandboxError):
    """The folder cannot be used, or a commit failed. Unless the message says otherwise, nothing has changed."""


class WorkspaceConflict(WorkspaceError):
    """The folder has changed since the run saw it, so the run's changes were not made."""


def conflict(path: tuple[str, ...], what: str) -> WorkspaceConflict:
    return WorkspaceConflict(f'Cannot commit: "{"/".join(path)}" {what}; nothing has changed')


class WorkspaceBusy(WorkspaceError):
    """Another process holds the folder's lock."""
