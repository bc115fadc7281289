"""The first look that spares most texts most rules hides nothing from them."""

from __future__ import annotations

import random
import re
from pathlib import Path

from cortex.redaction import scan
from cortex.settings.sections import RedactionSettings

KINDS = frozenset(RedactionSettings().kinds)
FOUND = (Path(__file__).parent / "corpus" / "found.txt").read_text(encoding="utf-8")
# What values are made of, in any order.
PARTS = [
    *("1", "22", "333", "4111", "55555", "0", "00", "+1", "(415)", "2026-01-15", "123456789", "DE89", "GB29", "AB"),
    *("-", "-", ".", ".", " ", " ", "/", ":", "::", "\xa0", '"', ",", "=", "@", "%40", "://", "…", "_", "\x1e", "\x1f"),
    *("phone", "tel: ", "ssn ", "call ", "token", "password", "key-", "bearer ", "basic ", "ann", "fe80", "2001", "é", "€"),
    *("com", "eyJ", "eyJhbGciOiJIUzI1NiJ9", "AKIA", "dapi", "sk-", "AA", "x" * 20, "aB3dE5fG7hI9jK1l", "0a1b2c3d4e5f6a7b"),
]  # fmt: skip


def asked_of_all(text):
    text = scan.smooth(text)
    return {span for rule, _ in scan._RULES for span in rule(text, text.lower()) if span.kind in KINDS}


def asked_of_few(text):
    text = scan.smooth(text)
    return {span for rule in scan._worth_asking(text, text.lower()) for span in rule(text, text.lower())}


def test_the_first_look_skips_no_rule_that_finds_a_known_value():
    for line in FOUND.splitlines():
        text = re.sub("[«»]", "", line)
        assert asked_of_few(text) == asked_of_all(text)


def test_the_first_look_skips_no_rule_that_finds_a_random_value():
    chance = random.Random(6)
    found = 0
    for _ in range(6_000):
        text = "".join(chance.choices(PARTS, k=chance.randrange(3, 12)))
        spans = asked_of_all(text)
        assert asked_of_few(text) == spans, text
        found += len(spans)
    assert found > 100


def test_the_first_look_skips_most_rules_for_most_texts():
    text = '{"total": 1000, "share": 0.25, "at": "10:30:00", "note": "nothing that anybody would hide"}'
    assert scan._worth_asking(text, text) == [scan.signed_keys, scan.key_words]
