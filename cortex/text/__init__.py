"""Text for people: terminal output, colour, widths, and code shown safely."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .code_view import CODE, beyond_ascii, broken, code_lines, visible_code
    from .compared_lines import line_diff
    from .keyboard import READING_S, is_person_there, typed
    from .long_texts import Turns, off_loop
    from .terminal import (
        PLAIN_COLUMNS,
        Wrap,
        columns_of,
        fit,
        hanging,
        has_colour,
        has_symbols,
        padded,
        picture_protocol,
        styled,
        terminal_columns,
        visible,
        wrapped,
    )
    from .text import NearNames, WholePieces, beginning, bounded, local_time, whole
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "code_view": "CODE beyond_ascii broken code_lines visible_code",
            "keyboard": "READING_S is_person_there typed",
            "compared_lines": "line_diff",
            "long_texts": "Turns off_loop",
            "terminal": (
                "PLAIN_COLUMNS Wrap columns_of fit hanging has_colour has_symbols padded picture_protocol styled "
                "terminal_columns visible wrapped"
            ),
            "text": "NearNames WholePieces beginning bounded local_time whole",
        },
    )
