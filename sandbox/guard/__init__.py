"""Checks agent code for obvious misuse without running it. The protection is the sandbox, not this check."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .guard import CodeReader, Guard
    from .patterns import Finding
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "guard": "CodeReader Guard",
            "patterns": "Finding",
        },
    )
