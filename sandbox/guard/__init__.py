"""The static check of agent code before it runs: a smoke detector, not the wall."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .code_reader import CodeReader as CodeReader
    from .guard import Guard as Guard
    from .patterns import Finding as Finding
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "code_reader": ["CodeReader"],
            "guard": ["Guard"],
            "patterns": ["Finding"],
        },
    )
