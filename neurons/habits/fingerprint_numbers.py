"""Reads the numbers of a script: the value of a sum or product of plain ones, such as `24 * 60 * 60`."""

from __future__ import annotations

import re
from functools import lru_cache

_ARITHMETIC = re.compile(r"[\d.eE+*/() ]{1,40}")
_SUM = re.compile(r" {0,3}\+ {0,3}")
_PRODUCT = re.compile(r" {0,3}([*/]) {0,3}")
_AROUND = "() "
PLAIN_NUMBERS = frozenset({0, 1, 2, 10, 100})


@lru_cache(maxsize=1024)
def number_of(text: str) -> float | None:
    """The value of a sum or product of plain numbers, such as `24 * 60 * 60`; None for anything else. Brackets are not
    minded: it must only be the same for the same text."""
    text = text.replace("_", "")
    if not _ARITHMETIC.fullmatch(text):
        return None
    try:
        return float(text) if text.isdecimal() else sum(map(_product, _SUM.split(text.strip(_AROUND))))
    except (ValueError, ZeroDivisionError, OverflowError):
        return None


def _product(text: str) -> float:
    first, *rest = _PRODUCT.split(text.strip(_AROUND))
    value = float(first.strip(_AROUND))
    for sign, factor in zip(rest[::2], rest[1::2], strict=True):
        number = float(factor.strip(_AROUND))
        value = value * number if sign == "*" else value / number
    return value
