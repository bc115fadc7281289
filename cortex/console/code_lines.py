"""Shows code as lines of HTML: highlighted in bounded time, with nothing hidden, and with one line marked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from markupsafe import Markup

from cortex.text import beginning, visible_code, whole

from .templating import MAX_TEXT

HIGHLIGHT_S = 0.1
"""Beyond this time the rest of a code stays plain: a code can be made so that finding its colours takes minutes."""
MAX_LINES = 2_000
_CLASSES = (("Comment", "c"), ("String", "s"), ("Number", "n"), ("Keyword", "k"), ("Name.Function", "f"))


def code_as_lines(code: str, marked: int | None = None, clock: Callable[[], float] = time.monotonic) -> Markup:
    """The lines of the code, each an element of its own; `marked` is the number of the one that failed."""
    shown = visible_code(beginning(whole(code), MAX_TEXT))
    lines: list[list[Markup]] = [[]]
    for kind, text in _pieces(shown, clock):
        for at, part in enumerate(text.split("\n")):
            if at:
                lines.append([])
            if part:
                lines[-1].append(
                    Markup('<i class="{}">{}</i>').format(kind, part) if kind else Markup("{}").format(part)
                )
    made = (
        Markup('<span class="line{}" id="L{}"><bdi>{}</bdi>\n</span>').format(
            " marked" if number == marked else "", number, Markup("").join(pieces)
        )
        for number, pieces in enumerate(lines[:MAX_LINES], 1)
    )
    return Markup("").join(made)


def _pieces(code: str, clock: Callable[[], float]) -> Iterator[tuple[str, str]]:
    """The pieces of the code in their order, each with a class for its colour."""
    # Imported late: it takes a while, and most pages show no code.
    from pygments.lexers import TypeScriptLexer  # type: ignore[import-untyped]  # noqa: PLC0415

    until, at = clock() + HIGHLIGHT_S, 0
    for at, kind, text in TypeScriptLexer(stripnl=False, ensurenl=False).get_tokens_unprocessed(code):
        if clock() > until:
            break
        yield _class_of(str(kind)), text
        at += len(text)  # noqa: PLW2901 - where the next one begins
    if at < len(code):
        yield "", code[at:]


def _class_of(kind: str) -> str:
    name = kind.removeprefix("Token.").removeprefix("Literal.")
    if name == "Keyword.Type":
        return ""  # the lexer takes the value in `{ name: value }` for a type
    return next((short for long, short in _CLASSES if name.startswith(long)), "")
