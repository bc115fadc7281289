"""Scans a text with the rules for the wanted kinds of secrets. Pure; the time is linear in the text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from cortex.settings import RedactedKind

from .addresses import ipv6
from .api_keys import bots, hooks, signed_keys, unsigned_keys
from .cut_ends import cut_ends
from .emails import emails
from .escapes import smooth
from .key_words import bearers, key_words, url_passwords
from .keys import jwts, private_keys
from .numbers import ibans, named_ssns, numbers, phones
from .phones import named_phones
from .spans import Span, disjoint

Rule = Callable[[str, str], Iterator[Span]]

_RULES: tuple[tuple[Rule, frozenset[RedactedKind]], ...] = (
    (emails, frozenset({"email"})),
    (numbers, frozenset({"ssn", "ip", "card", "phone"})),
    (phones, frozenset({"phone"})),
    (named_phones, frozenset({"phone"})),
    (named_ssns, frozenset({"ssn"})),
    (ibans, frozenset({"iban"})),
    (ipv6, frozenset({"ip"})),
    (jwts, frozenset({"jwt"})),
    (signed_keys, frozenset({"api_key"})),
    (unsigned_keys, frozenset({"api_key"})),
    (hooks, frozenset({"api_key"})),
    (bots, frozenset({"api_key"})),
    (private_keys, frozenset({"private_key"})),
    (key_words, frozenset({"secret"})),
    (bearers, frozenset({"secret"})),
    (url_passwords, frozenset({"secret"})),
    (cut_ends, frozenset({"email", "card", "iban", "api_key"})),
)


# All digits become 0, all capitals A; signs stay.
_SHAPE = bytes.maketrans(b"123456789BCDEFGHIJKLMNOPQRSTUVWXYZ\xa0", b"0" * 9 + b"A" * 25 + b" ")
_SHORTEST_PHONE = "0" * 7
_SHORTEST_CARD = "0" * 14
_MIN_COLONS = 7


def _worth_asking(text: str, lowered: str) -> list[Rule]:
    """The rules that could find anything in this text. Most texts are short and harmless: plain searches find that out
    in half the time of running each rule."""
    # Only for the search: other characters become question marks.
    flat = text.encode("latin-1", "replace").translate(_SHAPE)
    shape = flat.decode("latin-1")
    rules: list[Rule] = [signed_keys, key_words]
    if "@" in text or "%40" in text:
        rules += (emails, url_passwords)
    if "0" in shape:
        rules += _of_digits(shape, flat)
    if "AAAA" in shape or "AIza" in text or "dapi" in text:
        rules.append(unsigned_keys)
    if ":AA" in text:
        rules.append(bots)
    if "::" in text or text.count(":") >= _MIN_COLONS:
        rules.append(ipv6)
    if "eyJ" in text:
        rules.append(jwts)
    if "hooks" in text:
        rules.append(hooks)
    if "-----BEGIN " in text:
        rules.append(private_keys)
    if "bearer" in lowered or "basic" in lowered:
        rules.append(bearers)
    if "…" in text:
        rules.append(cut_ends)
    return rules


def _of_digits(shape: str, flat: bytes) -> Iterator[Rule]:
    """The rules for digits. None for times, counts and decimal numbers; for dates only the one for phones."""
    if (
        "0 00" in shape
        or ("." in shape and (".0." in shape or ".00." in shape or ".000." in shape))
        or ("-" in shape and ("0-000" in shape or "0-00-00-00" in shape))
        or _SHORTEST_CARD in shape
    ):
        yield numbers
    if "+0" in shape or "(000)" in shape:
        yield phones
    if _SHORTEST_PHONE in shape or b"0000000" in flat.translate(None, b" ./()-"):
        yield named_phones
        yield named_ssns
    if "AA00" in shape:
        yield ibans


class Scan:
    """Finds the wanted kinds of secrets and personal data in texts."""

    def __init__(self, kinds: Collection[RedactedKind]) -> None:
        self._kinds = frozenset(kinds)
        self._rules = frozenset(rule for rule, finds in _RULES if finds & self._kinds)

    def found(self, text: str) -> list[Span]:
        """The spans to redact, in order, without overlaps."""
        # Always the same length as the text, so that offsets are valid in both.
        text = smooth(text)
        lowered = text.lower()
        if len(lowered) != len(text):
            # The one letter that becomes two in lower case.
            lowered = text.replace("İ", "I").lower()
        rules = [rule for rule in _worth_asking(text, lowered) if rule in self._rules]
        spans = [span for rule in rules for span in rule(text, lowered) if span.kind in self._kinds]
        return disjoint(spans) if len(spans) > 1 else spans
