"""Highlight code for the terminal. Only our colours are escape sequences; the code's own are made visible.

A module of its own because commands use it without a turn to show, and it is all that knows pygments.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, TypeAlias

from cortex.text import visible

Kind: TypeAlias = Any
"""A token type of pygments, which has no types of its own."""
HIGHLIGHT_S = 0.1
"""Beyond this time the rest of a code stays plain: a code can be made so that finding its colours takes minutes."""


def highlighted(lines: list[str], source: str, clock: Callable[[], float] = time.thread_time) -> list[str]:
    """The wrapped lines of the source, coloured. The source is tokenized as a whole, so that a string that goes on in
    the next line keeps its colour."""
    from pygments.formatters import TerminalFormatter  # type: ignore[import-untyped]  # noqa: PLC0415 - for terminals
    from pygments.lexers import TypeScriptLexer  # type: ignore[import-untyped]  # noqa: PLC0415
    from pygments.token import Error, Text  # type: ignore[import-untyped]  # noqa: PLC0415

    lexer = TypeScriptLexer(stripnl=False, ensurenl=False)
    # The lexer's errors are shown as plain text: it takes the division in `a! / b` for a regular expression.
    kinds = (Text if kind is Error else kind for kind in _kinds(lexer.get_tokens(visible(source)), clock))

    def painted() -> Iterator[tuple[Kind, str]]:
        # Wrapping changes only blanks and line ends, so all other characters match the tokens in order.
        for character in "\n".join(lines):
            yield (Text if character in " \n" else next(kinds, Text)), character

    out = io.StringIO()
    tokens = ((kind, "".join(text for _, text in run)) for kind, run in groupby(painted(), lambda token: token[0]))
    TerminalFormatter().format(tokens, out)
    return out.getvalue().split("\n")


def _kinds(tokens: Iterator[tuple[Kind, str]], clock: Callable[[], float]) -> Iterator[Kind]:
    """The kind of each character, until the time is over."""
    until = clock() + HIGHLIGHT_S
    for kind, text in tokens:
        if clock() > until:
            return
        for character in text:
            if character not in " \t\n":
                yield kind
