"""All that is found in a text, by the rules of the kinds that are wanted. Pure; the time grows with the text only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator

from cortex.sections import RedactedKind

from .addresses import ipv6
from .cut_ends import cut_ends
from .emails import emails
from .escapes import smooth
from .key_words import bearers, key_words, url_passwords
from .keys import api_keys, jwts, private_keys
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
    (api_keys, frozenset({"api_key"})),
    (private_keys, frozenset({"private_key"})),
    (key_words, frozenset({"secret"})),
    (bearers, frozenset({"secret"})),
    (url_passwords, frozenset({"secret"})),
    (cut_ends, frozenset({"email", "card", "iban", "api_key"})),
)


class Scan:
    def __init__(self, kinds: Collection[RedactedKind]) -> None:
        self._kinds = frozenset(kinds)
        self._rules = [rule for rule, finds in _RULES if finds & self._kinds]

    def found(self, text: str) -> list[Span]:
        """In order, without overlaps."""
        # Letter for letter as long as the text, so that places in one are places in the other.
        text = smooth(text)
        lowered = text.lower()
        if len(lowered) != len(text):
            # The one letter that becomes two in small letters.
            lowered = text.replace("İ", "I").lower()
        spans = [span for rule in self._rules for span in rule(text, lowered) if span.kind in self._kinds]
        return disjoint(spans) if len(spans) > 1 else spans
