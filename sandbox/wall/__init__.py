"""Builds the wall, the restrictions around a worker, and tests that Deno runs behind it."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .wall import make_spawner, open_spawner
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "wall": "make_spawner open_spawner",
        },
    )
