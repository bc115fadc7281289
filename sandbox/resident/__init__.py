"""Resident programs, which stay and answer signals: one Deno process for each neuron."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .resident import open_resident
    from .resident_process import Source
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "resident": "open_resident",
            "resident_process": "Source",
        },
    )
