"""Text for people: terminal output, colour, widths, and code shown safely."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .code_view import (
        CODE as CODE,
        beyond_ascii as beyond_ascii,
        broken as broken,
        code_lines as code_lines,
        visible_code as visible_code,
    )
    from .keyboard import READING_S as READING_S, is_person_there as is_person_there, typed as typed
    from .long_texts import Turns as Turns, off_loop as off_loop
    from .terminal import (
        Wrap as Wrap,
        columns_of as columns_of,
        fit as fit,
        has_colour as has_colour,
        has_symbols as has_symbols,
        padded as padded,
        styled as styled,
        terminal_columns as terminal_columns,
        visible as visible,
        wrapped as wrapped,
    )
    from .text import (
        NearNames as NearNames,
        WholePieces as WholePieces,
        beginning as beginning,
        bounded as bounded,
        local_time as local_time,
        whole as whole,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "code_view": ["CODE", "beyond_ascii", "broken", "code_lines", "visible_code"],
            "keyboard": ["READING_S", "is_person_there", "typed"],
            "long_texts": ["Turns", "off_loop"],
            "terminal": [
                "Wrap",
                "columns_of",
                "fit",
                "has_colour",
                "has_symbols",
                "padded",
                "styled",
                "terminal_columns",
                "visible",
                "wrapped",
            ],
            "text": ["NearNames", "WholePieces", "beginning", "bounded", "local_time", "whole"],
        },
    )
