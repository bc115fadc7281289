"""Names that an agent gives: which of them a person would take for another, and which are nobody's to take. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from ..contracts import BUILT_IN

MAX_ID = 70

# What reads as a part of the cortex, folded. An owner who reads "Kill Switch wants to learn" must not have to wonder.
_RESERVED = (
    "agent all audit autonomic autonomiclayer cognition cortex guard habits heartbeat host intents killswitch memory "
    "motorcortex neuron neurons owner sandbox system"
)
_OUT_OF_REACH = "core"

# Of the letters that a name can have, those that fonts make alike.
_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l"})
_ALIKE_PAIRS = (("rn", "m"), ("vv", "w"))


def folded(name: str) -> str:
    """The name as one remembers it: two that fold to the same text are the same to a person."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower()).translate(_ALIKE)
    for pair, letter in _ALIKE_PAIRS:
        plain = plain.replace(pair, letter)
    return plain


def is_reserved(name: str) -> bool:
    """Whether the name is the cortex's own, or could be taken for one of its own."""
    plain = folded(name)
    # "Owner Neuron" is no better than "Owner".
    return plain.startswith(_OUT_OF_REACH) or not {plain, plain.removesuffix("neuron")}.isdisjoint(_FOLDED_RESERVED)


def looks_built_in(signal: str) -> bool:
    return folded(signal) in _FOLDED_BUILT_IN


def first_alike(name: str, others: Iterable[str]) -> str | None:
    plain = folded(name)
    return next((other for other in others if folded(other) == plain), None)


def free_id(name: str, taken: Container[str]) -> str:
    """`CryptoPrice` is `crypto-price`, and the second one `crypto-price-2`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
    slug = re.sub(r"[^a-z0-9]+", "-", words).strip("-")[:MAX_ID].rstrip("-")
    number = 2
    found = slug
    while found in taken:
        found = f"{slug}-{number}"
        number += 1
    return found


_FOLDED_BUILT_IN = frozenset(map(folded, BUILT_IN))
_FOLDED_RESERVED = frozenset(map(folded, _RESERVED.split())) | _FOLDED_BUILT_IN
