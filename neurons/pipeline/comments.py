"""Finds code that is mostly comment. Pure, and quick for any text: one pass. A module of its own: what is a comment is
hard enough to be looked at alone.

A guess: a regular expression that holds a quote or two slashes is taken for what it looks like. It decides only whether
a proposal is refused, never what the owner is shown.
"""

from __future__ import annotations

import re

MIN_COMMENT = 400
"""Fewer characters of comment than this are no burden, whatever their share."""
MAX_SHARE = 0.5

# The first alternative that fits at a place counts: a "//" inside a text is no comment. A text ends at the latest with
# its line, and a template or a comment with the code, so that no place is looked at twice.
_PIECES = re.compile(
    r"""//(?P<line>[^\n]*)|/\*(?P<block>(?:[^*]|\*(?!/))*+)(?:\*/)?|"(?:[^"\\\n]|\\.)*+"?|'(?:[^'\\\n]|\\.)*+'?"""
    r"""|`(?:[^`\\]|\\.)*+`?""",
    re.DOTALL,
)


def is_mostly_comment(code: str) -> bool:
    comment = sum(_seen(piece["line"] or piece["block"] or "") for piece in _PIECES.finditer(code))
    return comment >= MIN_COMMENT and comment > _seen(code) * MAX_SHARE


def _seen(text: str) -> int:
    """The characters that are no blanks."""
    return sum(map(len, text.split()))
