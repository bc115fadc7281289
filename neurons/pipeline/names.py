"""Names that an agent may give to a neuron: not one of the cortex's own, and not one that looks like another. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from ..contracts import BUILT_IN

MAX_ID = 70

# Names of parts of the cortex, folded. An owner who reads "Kill Switch wants to learn" must not have to wonder.
_RESERVED = (
    "agent all audit autonomic autonomiclayer cognition cortex guard habits heartbeat host intents killswitch memory "
    "motorcortex neuron neurons owner sandbox system"
)
_OUT_OF_REACH = "core"

# Letters that fonts draw alike.
_ALIKE = str.maketrans({"0": "o", "1": "l", "i": "l"})
_ALIKE_PAIRS = (("rn", "m"), ("vv", "w"))


def folded(name: str) -> str:
    """The name as a person remembers it: two names that fold to the same text look the same to a person."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower()).translate(_ALIKE)
    for pair, letter in _ALIKE_PAIRS:
        plain = plain.replace(pair, letter)
    return plain


def is_reserved(name: str) -> bool:
    """Whether the name is one of the cortex's own, or could be taken for one."""
    plain = folded(name)
    # "Owner Neuron" is no better than "Owner".
    return plain.startswith(_OUT_OF_REACH) or not {plain, plain.removesuffix("neuron")}.isdisjoint(_FOLDED_RESERVED)


def looks_built_in(signal: str) -> bool:
    return folded(signal) in _FOLDED_BUILT_IN


def first_alike(name: str, others: Iterable[str]) -> str | None:
    plain = folded(name)
    return next((other for other in others if folded(other) == plain), None)


def free_id(name: str, taken: Container[str]) -> str:
    """A free id for the name: `crypto-price` for `CryptoPrice`, and `crypto-price-2` for the second one."""
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
