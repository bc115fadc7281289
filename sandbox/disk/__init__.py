"""Writes files so that they survive a crash: atomic replacement, locks between processes, flushing."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .data_files import cache_folder as cache_folder, data_file as data_file
    from .durable import (
        LOCK_TIMEOUT_S as LOCK_TIMEOUT_S,
        FileLock as FileLock,
        Flusher as Flusher,
        LockBusy as LockBusy,
    )
    from .whole_files import (
        FILE_MODE as FILE_MODE,
        FOLDER_MODE as FOLDER_MODE,
        flush_file as flush_file,
        flush_folder as flush_folder,
        private_folder as private_folder,
        read_private as read_private,
        replace_file as replace_file,
        set_aside as set_aside,
        sweep_unfinished as sweep_unfinished,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "data_files": ["cache_folder", "data_file"],
            "durable": ["FileLock", "Flusher", "LOCK_TIMEOUT_S", "LockBusy"],
            "whole_files": [
                "FILE_MODE",
                "FOLDER_MODE",
                "flush_file",
                "flush_folder",
                "private_folder",
                "read_private",
                "replace_file",
                "set_aside",
                "sweep_unfinished",
            ],
        },
    )
