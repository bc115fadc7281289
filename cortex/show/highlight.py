"""Code in colours. The colours are ours; of the code itself nothing can steer a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import groupby
from typing import Any, TypeAlias

from cortex.text import visible

Kind: TypeAlias = Any
"""A token type of pygments, which has no types of its own."""


def highlighted(lines: list[str], source: str) -> list[str]:
    """The lines, which are the source wrapped, in the colours that the source has as a whole: a string that goes on in
    the next line stays one."""
    from pygments.formatters import TerminalFormatter  # type: ignore[import-untyped]  # noqa: PLC0415 - for terminals
    from pygments.lexers import TypeScriptLexer  # type: ignore[import-untyped]  # noqa: PLC0415
    from pygments.token import Error, Text  # type: ignore[import-untyped]  # noqa: PLC0415

    lexer = TypeScriptLexer(stripnl=False, ensurenl=False)
    # What the lexer does not know is not wrong: it takes the division in `a! / b` for the begin of a pattern.
    kinds = (Text if kind is Error else kind for kind in _kinds(lexer.get_tokens(visible(source))))

    def painted() -> Iterator[tuple[Kind, str]]:
        # Wrapping changes blanks and line ends, and nothing else.
        for character in "\n".join(lines):
            yield (Text if character in " \n" else next(kinds, Text)), character

    out = io.StringIO()
    tokens = ((kind, "".join(text for _, text in run)) for kind, run in groupby(painted(), lambda token: token[0]))
    TerminalFormatter().format(tokens, out)
    return out.getvalue().split("\n")


def _kinds(tokens: Iterator[tuple[Kind, str]]) -> Iterator[Kind]:
    return (kind for kind, text in tokens for character in text if character not in " \t\n")
