"""Files for agent code: a run sees a folder with its own writes on top; only the caller's commit changes the disk."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .terms import WorkspaceBusy, WorkspaceConflict, WorkspaceError, WorkspaceLimits
    from .transaction import Transaction, Workspace
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "terms": "WorkspaceBusy WorkspaceConflict WorkspaceError WorkspaceLimits",
            "transaction": "Transaction Workspace",
        },
    )
