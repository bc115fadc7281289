"""Writes files so that they survive a crash: atomic replacement, locks between processes, flushing."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .damaged_files import copy_aside, move_aside
    from .data_files import cache_folder, data_file
    from .durable import LOCK_TIMEOUT_S, FileLock, Flusher, LockBusy
    from .line_file import HeldLines, LineFile, append_whole, end_of_file, first_lines, open_lines
    from .whole_files import (
        FILE_MODE,
        FOLDER_MODE,
        flush_file,
        flush_folder,
        private_folder,
        read_private,
        replace_file,
        sweep_unfinished,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "damaged_files": "copy_aside move_aside",
            "data_files": "cache_folder data_file",
            "durable": "FileLock Flusher LOCK_TIMEOUT_S LockBusy",
            "line_file": "HeldLines LineFile append_whole end_of_file first_lines open_lines",
            "whole_files": (
                "FILE_MODE FOLDER_MODE flush_file flush_folder private_folder read_private replace_file "
                "sweep_unfinished"
            ),
        },
    )
