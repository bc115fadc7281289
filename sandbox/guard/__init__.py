"""The static check of agent code before it runs: a smoke detector, not the wall."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .guard import CodeReader, Guard
    from .patterns import Finding
    from .slips import slip
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "guard": ["CodeReader", "Guard"],
            "patterns": ["Finding"],
            "slips": ["slip"],
        },
    )
