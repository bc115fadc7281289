"""Files for agent code: a folder, seen through what the run has written, and changed only by a commit."""

from typing import TYPE_CHECKING

from ..late import late_names

if TYPE_CHECKING:
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

__getattr__ = late_names(
    __name__,
    {
        "Transaction": "transaction",
        "Workspace": "transaction",
        "WorkspaceBusy": "errors",
        "WorkspaceConflict": "errors",
        "WorkspaceError": "errors",
        "WorkspaceLimits": "limits",
    },
)
