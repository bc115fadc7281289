"""Long texts are searched piece by piece, and nothing is missed where two pieces meet."""

from __future__ import annotations

import random
import re

import pytest

from cortex.redaction import Redactor
from cortex.redaction.spans import Span, disjoint, searched
from cortex.settings import RedactionSettings

PIECE = 32_768
SECRETS = {
    "a mail address": "ann.lee@example.com",
    "a card": "4111 1111 1111 1111",
    "a key": "ghp_aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2",
    "a phone": "+49 170 1234567",
    "an account": "DE89 3704 0044 0532 0130 00",
    "an address": "2001:db8:85a3::8a2e:370:7334",
    "a bearer": "Bearer aB3dE5fG7hJ9kL1mN2pQ4rS6tU8",
}


@pytest.mark.parametrize("what", SECRETS)
def test_a_secret_is_found_wherever_two_pieces_meet_in_it(what):
    secret = SECRETS[what]
    alone = Redactor(RedactionSettings()).text(f"see {secret} there")
    assert secret.split()[-1] not in alone
    for before in range(len(secret) + 2):
        text = f"{'x ' * PIECE}"[: PIECE - before - 4] + f"see {secret} there"
        assert Redactor(RedactionSettings()).text(text).endswith(alone[4:])


def test_pieces_find_what_a_search_of_the_whole_finds():
    choice = random.Random(5)
    pattern = re.compile(r"(?<!b)a(?:[ab]{1,40}|c)(?=a|c)")
    for _ in range(5):
        text = "".join(choice.choices("aaabcd", k=200_000))
        found = [match.span() for match in searched(pattern, text)]
        assert found == [match.span() for match in pattern.finditer(text)]
        assert [match.span() for match in searched(pattern, text, 777)] == [
            match.span() for match in pattern.finditer(text, 777)
        ]


def test_no_single_search_holds_the_interpreter_for_a_long_text():
    asked = []

    class Pattern:
        def finditer(self, text, begin, end):
            asked.append(end - begin)
            return iter(())

    assert list(searched(Pattern(), "x" * 2_000_000)) == []
    assert max(asked) <= PIECE + 8_192
    assert len(asked) > 60


def test_spans_are_merged_in_order_whatever_piece_they_begin_in():
    spans = [Span(at, at + 5, "ip") for at in (100_000, 7, 40_000, 32_766, 32_769)]
    assert disjoint(spans) == [
        Span(7, 12, "ip"),
        Span(32_766, 32_774, "ip"),
        Span(40_000, 40_005, "ip"),
        Span(100_000, 100_005, "ip"),
    ]
