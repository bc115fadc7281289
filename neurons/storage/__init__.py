"""Stores the documents of a home as files: read whole, changed under a lock, written now or later."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .memory_storage import MemoryStorage
    from .storage import Damage, DeferredStorage
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "memory_storage": "MemoryStorage",
            "storage": "Damage DeferredStorage",
        },
    )
