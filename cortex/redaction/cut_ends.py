"""Finds values that were cut in the middle: an address, a card or a key before the "…" of a shortened text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from .checksums import IBAN_LENGTHS, is_card_beginning
from .spans import Span

_MARK = "…"
_LOOK_BACK = 120
# A text is cut once, and each text of a list once. Text with more marks than this is not searched further.
_MAX_MARKS = 1_000
# Nine digits of a card are enough to leak it: the missing ones can be guessed from the check digit and a second leak.
_MIN_CARD_DIGITS = 9

_ENDS = (
    r"(?:(?<![\w.+'@-])(?P<email>[\w.+'-]{1,64}@[\w.-]{1,63})"
    r"|(?<![\w.-])(?P<card>[2-6][0-9]{3}(?:[ -]?[0-9]){5,14})[ -]?"
    r"|(?<!\w)(?P<iban>[A-Z]{2}[0-9]{2}(?:[ ]?[A-Z0-9]){8,28})[ ]?"
    r"|(?<![\w-])(?P<api_key>(?:sk-|sk_live_|rk_live_|gh[opsur]_|github_pat_|glpat-|xox[abeprs]-|AKIA|AIza|npm_|hf_)[\w-]{6,100})"
    r")\Z"
)


def cut_ends(text: str, lowered: str) -> Iterator[Span]:  # noqa: ARG001
    at = text.find(_MARK)
    for _ in range(_MAX_MARKS):
        if at < 0:
            return
        match = _compiled().search(text, max(0, at - _LOOK_BACK), at)
        if match is not None:
            value = match[match.lastgroup or 0]
            if match["email"] or match["api_key"] or _is_beginning(value):
                yield Span(match.start(), match.start() + len(value), match.lastgroup)  # type: ignore[arg-type]
        at = text.find(_MARK, at + 1)


@cache
def _compiled() -> re.Pattern[str]:
    return re.compile(_ENDS)


def _is_beginning(value: str) -> bool:
    digits = re.sub(r"[ -]", "", value)
    if value[0].isdigit():
        return len(digits) >= _MIN_CARD_DIGITS and is_card_beginning(digits)
    return value[:2] in IBAN_LENGTHS and len(digits) < IBAN_LENGTHS[value[:2]]
