"""Files for agent code: a folder, seen through what the run has written, and changed only by a commit."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .errors import (
        WorkspaceBusy as WorkspaceBusy,
        WorkspaceConflict as WorkspaceConflict,
        WorkspaceError as WorkspaceError,
    )
    from .limits import WorkspaceLimits as WorkspaceLimits
    from .transaction import Transaction as Transaction, Workspace as Workspace
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "errors": ["WorkspaceBusy", "WorkspaceConflict", "WorkspaceError"],
            "limits": ["WorkspaceLimits"],
            "transaction": ["Transaction", "Workspace"],
        },
    )
