"""Quarantine: runs a proposed neuron on invented and recorded signals before the owner sees it."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .nightly import Nightly
    from .quarantine import rehearse
    from .queue import Candidates
    from .side_by_side import SideBySide
    from .workplace import Workplace
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "nightly": "Nightly",
            "quarantine": "rehearse",
            "queue": "Candidates",
            "side_by_side": "SideBySide",
            "workplace": "Workplace",
        },
    )
