"""The door: the same value, the same token; back only on request; and never more than is bounded."""

from __future__ import annotations

import json
import typing

import pytest
from hypothesis import given, strategies as st

from cortex.redaction import Redactor, Tokens
from cortex.redaction.redactor import MAX_DEPTH, MAX_RESTORED_CHARACTERS, TOO_DEEP
from cortex.redaction.tokens import TOKEN
from cortex.settings.sections import RedactedKind, RedactionSettings
from tests.cortex.redaction.test_found import JWT, PEM, corpus

ONE_OF_EACH = {
    "email": "ann@example.com",
    "phone": "+49 30 12345678",
    "ssn": "123-45-6789",
    "card": "4111 1111 1111 1111",
    "iban": "DE89 3704 0044 0532 0130 00",
    "ip": "203.0.113.7",
    "jwt": JWT,
    "api_key": "AKI" + "AIOSFODNN7EXAMPLE",
    "private_key": PEM,
    "secret": "password=hunter2",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def redactor(**settings):
    return Redactor(RedactionSettings(**settings))


def test_there_is_one_of_each_kind():
    assert set(ONE_OF_EACH) == set(typing.get_args(RedactedKind)) == set(RedactionSettings().kinds)


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_only_the_kinds_of_the_settings_are_replaced(kind):
    text = "\n".join(ONE_OF_EACH.values())
    [only] = [token for token in redactor(kinds=(kind,)).text(text).split("\n") if "[" in token]
    assert only.removeprefix("password=") == f"[{kind.upper()}_1]"
    others = tuple(other for other in ONE_OF_EACH if other != kind)
    value = ONE_OF_EACH[kind].removeprefix("password=")
    assert value in redactor(kinds=others).text(text)
    assert all(
        ONE_OF_EACH[other].removeprefix("password=") not in redactor(kinds=others).text(text) for other in others
    )


def test_nothing_is_replaced_when_it_is_switched_off():
    text = "ann@example.com"
    assert redactor(enabled=False).text(text) == text
    assert redactor(enabled=False).value([text]) == [text]
    assert redactor(enabled=False, restore=True).restored("[EMAIL_1]") == "[EMAIL_1]"
    assert redactor(kinds=()).text(text) == text


def test_the_same_value_has_the_same_token_in_every_text_and_value():
    all_day = redactor()
    assert all_day.text("ann@example.com, bob@example.com") == "[EMAIL_1], [EMAIL_2]"
    assert all_day.value({"to": ["bob@example.com", "Ann@Example.com"]}) == {"to": ["[EMAIL_2]", "[EMAIL_1]"]}
    assert all_day.text("4111111111111111 and 4111 1111 1111 1111") == "[CARD_1] and [CARD_1]"
    assert redactor().text("bob@example.com") == "[EMAIL_1]"


def test_names_of_members_and_numbers_are_looked_at_too():
    assert redactor().value(
        {"ann@example.com": {"card": 4111111111111111, "n": 12, "x": 1.5, "y": None, "z": True}}
    ) == {"[EMAIL_1]": {"card": "[CARD_1]", "n": 12, "x": 1.5, "y": None, "z": True}}


def test_a_token_is_restored_only_when_the_settings_say_so():
    for restore in (False, True):
        both = redactor(restore=restore)
        both.text("ann@example.com and 4111 1111 1111 1111")
        wanted = {"to": "ann@example.com", "note": ["card 4111 1111 1111 1111"]} if restore else None
        handed_back = {"to": "[EMAIL_1]", "note": ["card [CARD_1]"]}
        assert both.restored(handed_back) == (wanted or handed_back)


def test_only_tokens_that_were_given_out_are_restored():
    all_day = redactor(restore=True)
    all_day.text("ann@example.com")
    text = "[EMAIL_2] [EMAIL_01] [email_1] [EMAIL] [PHONE_1] [EMAIL_1"
    assert all_day.restored(text) == text
    assert all_day.restored("[EMAIL_1]") == "ann@example.com"


def test_a_token_that_a_text_had_itself_stays_text_and_stands_for_nothing():
    all_day = redactor(restore=True)
    assert all_day.text("the template says [EMAIL_1] and [EMAIL_7]") == "the template says [EMAIL_1] and [EMAIL_7]"
    assert all_day.text("ann@example.com") == "[EMAIL_2]"
    assert all_day.restored("[EMAIL_1] [EMAIL_2]") == "[EMAIL_1] ann@example.com"


def test_a_token_of_ours_that_comes_back_in_a_result_keeps_its_meaning():
    all_day = redactor(restore=True)
    all_day.text("ann@example.com")
    assert all_day.text("sent to [EMAIL_1]") == "sent to [EMAIL_1]"
    assert all_day.restored("[EMAIL_1]") == "ann@example.com"
    assert all_day.text("bob@example.com") == "[EMAIL_2]"


@pytest.mark.parametrize(("kind", "marked"), list(corpus()))
def test_a_text_redacted_twice_has_the_same_tokens_and_is_restored_whole(kind, marked):
    all_day, text = redactor(restore=True), marked.replace("«", "").replace("»", "")
    once = all_day.text(text)
    assert all_day.text(once) == once
    assert all_day.value({"x": once}) == {"x": once}
    tokens = TOKEN.findall(once)
    # Two spellings of one number have one token, and come back as the first.
    if len(set(tokens)) == len(tokens):
        assert all_day.restored(once) == text
        assert all_day.restored(all_day.value({"x": [text]})) == {"x": [text]}


def test_more_values_than_there_is_room_for_have_a_token_without_a_number():
    all_day = redactor(restore=True)
    text = all_day.text(" ".join(f"ann{number}@example.com" for number in range(10_020)))
    tokens = text.split(" ")
    assert tokens[9_999] == "[EMAIL_10000]"
    assert set(tokens[10_000:]) == {"[EMAIL]"}
    assert all_day.text("ann0@example.com") == "[EMAIL_1]"
    assert all_day.restored("[EMAIL]") == "[EMAIL]"
    shown = all_day.value({f"new{number}@example.com": number for number in range(3)})
    assert sorted(shown.values()) == [0, 1, 2]


def test_a_long_key_handed_back_a_thousand_times_does_not_fill_the_memory():
    all_day = redactor(restore=True)
    key = PEM.replace("MIIE", "MIIE" * 10_000)
    assert all_day.text(key) == "[PRIVATE_KEY_1]"
    back = all_day.restored(["[PRIVATE_KEY_1]"] * 1_000)
    assert back[0] == key
    assert back[-1] == "[PRIVATE_KEY_1]"
    assert sum(map(len, back)) < MAX_RESTORED_CHARACTERS + 20_000


def test_values_nested_too_deep_to_be_searched_are_left_out():
    value = "ann@example.com"
    for _ in range(MAX_DEPTH + 5):
        value = [value]
    shown = json.dumps(redactor().value(value))
    assert TOO_DEEP in shown
    assert "ann" not in shown
    value = "ann@example.com"
    for _ in range(MAX_DEPTH):
        value = {"a": value}
    assert "[EMAIL_1]" in json.dumps(redactor().value(value))


def test_separator_characters_inside_strings_do_not_split_them():
    value = ["\x1eann@example.com\x1f", "pass\x1f", {"password\x1e": "hunter2"}, "4111\x1e1111", "x"]
    assert redactor().value(value)[0] == "\x1e[EMAIL_1]\x1f"
    assert redactor().value(value)[3:] == ["4111\x1e1111", "x"]


@given(JSON)
def test_any_value_keeps_its_shape(value):
    shown = redactor().value(value)
    assert _has_shape(shown, value)
    json.dumps(shown)


def _has_shape(shown, value):
    match shown, value:
        case (dict(), dict()) | (list(), list()):
            parts = [list(one.values()) if isinstance(one, dict) else one for one in (shown, value)]
            return len(shown) == len(value) and all(map(_has_shape, *parts))
        case str(), str() | int() | float() if TOKEN.fullmatch(shown):
            # A long number may have become a token, and so may a text under a key like "pwd".
            return True
        case _:
            return type(shown) is type(value)


PARTS = [*"a1@.:/+-[]_ \\\"'…=\n", "ann@x.com", "4111111111111111", "password=", "://", "[EMAIL_1]", "hunter2"]


@given(st.lists(st.sampled_from(PARTS)))
def test_a_second_redaction_finds_nothing_more(parts):
    all_day = redactor()
    once = all_day.text(" ".join(parts))
    assert all_day.text(once).count("[") == once.count("[")


def test_two_redactors_with_the_same_tokens_agree():
    tokens = Tokens()
    first, second = (Redactor(RedactionSettings(), tokens) for _ in range(2))
    assert first.text("ann@example.com") == second.value(["ann@example.com"])[0] == "[EMAIL_1]"
