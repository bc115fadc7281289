"""Scans a text with the rules for the wanted kinds of secrets. Pure; the time is linear in the text.

What fits no other module of rules is here, too: values that were cut, and JSON escapes, which hide values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from functools import cache

from cortex.settings import RedactedKind

from .addresses import emails, ipv6
from .checksums import IBAN_LENGTHS, is_card_beginning
from .key_words import bearers, key_words, url_passwords
from .keys import bots, hooks, jwts, private_keys, signed_keys, unsigned_keys
from .numbers import ibans, named_phones, named_ssns, numbers, phones
from .spans import Span, disjoint

_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
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
    """Values that were cut in the middle: an address, a card or a key before the "…" of a shortened text."""
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


def smooth(text: str) -> str:
    """The text with escapes replaced, at the same length, for searching: in `\\nann@example.com` the name is ann.

    Done for every text, because a result is often JSON that contains JSON. A path like `C:\\new` is distorted, but only
    for the search.
    """
    if "\\" not in text:
        return text
    text = text.replace("\\n", "  ").replace('\\"', '""').replace("\\t", "  ").replace("\\r", "  ").replace("\\/", "//")
    return _ESCAPE.sub(_six, text) if "\\u" in text else text


def _six(match: re.Match[str]) -> str:
    """Six characters for an escape: a letter repeated; for a sign, blanks and then the sign, because a value may
    follow."""
    letter = chr(int(match[1], 16))
    return letter * 6 if letter.isalnum() else letter.rjust(6) if letter.isprintable() else " " * 6
