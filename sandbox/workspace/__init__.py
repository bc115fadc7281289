"""Files for agent code: a folder, seen through what the run has written, and changed only by a commit."""

from .errors import WorkspaceBusy, WorkspaceConflict, WorkspaceError
from .limits import WorkspaceLimits
from .transaction import Transaction, Workspace

__all__ = [
    "Transaction",
    "Workspace",
    "WorkspaceBusy",
    "WorkspaceConflict",
    "WorkspaceError",
    "WorkspaceLimits",
]
