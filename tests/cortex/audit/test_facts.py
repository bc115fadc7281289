"""What may be said of an event, and how much of it."""

from __future__ import annotations

import json
from enum import StrEnum

import pytest
from hypothesis import given, strategies as st

from cortex.audit import AuditError, FactRefused
from cortex.audit.facts import MAX_FACTS_BYTES, MAX_ITEMS, MAX_TEXT, bounded
from cortex.audit.lines import GENESIS, MAX_LINE_BYTES, is_intact, parse, sealed

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(-1e9, 1e9) | st.text(max_size=50),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=10,
)
NAMES = st.text(min_size=1, max_size=30).filter(lambda name: name not in {"seq", "at", "kind", "previous", "hash"})


def read(facts):
    """What a reader finds of the facts."""
    line, own_hash = sealed(1, "2026-11-16T11:00:00.000000+00:00", "k", bounded(facts).text, GENESIS)
    assert len(line) <= MAX_LINE_BYTES
    assert is_intact(line[:-1])
    record = parse(line[:-1])
    assert record.hash == own_hash
    assert record.facts == bounded(facts).facts
    return record.facts


@given(st.dictionaries(NAMES, JSON, max_size=8))
def test_what_is_json_comes_back_as_it_was(facts):
    read(facts)


@pytest.mark.parametrize("text", ["", "a" * MAX_TEXT, "\x1b[2J\x9b1A\u202e\n\r\0", "\ud800", "茶 🍵", '","hash":"x"}'])
def test_texts_come_back_as_they_were_and_the_line_is_ascii(text):
    assert read({"text": text}) == {"text": text}
    line = bounded({"text": text}).text
    assert line.isascii()
    assert line.isprintable()


def test_an_enumeration_is_its_text():
    class Tier(StrEnum):
        ISOLATED = "isolated"

    assert read({"tier": Tier.ISOLATED}) == {"tier": "isolated"}


def test_a_long_text_is_cut_and_says_by_how_much():
    text = read({"text": "é" * (MAX_TEXT + 7)})["text"]
    assert text == "é" * MAX_TEXT + "… (7 more characters left out)"


def test_long_lists_and_tables_are_cut_and_say_by_how_much():
    facts = read({"list": list(range(MAX_ITEMS + 3)), "table": {str(n): n for n in range(MAX_ITEMS + 4)}})
    assert facts["list"][MAX_ITEMS:] == ["… (3 more)"]
    assert facts["table"]["…"] == "4 more"


def test_deep_values_are_cut():
    assert read({"deep": [[[[[[1]]]]]]}) == {"deep": [[[["…"]]]]}
    endless: list[object] = []
    endless.append(endless)
    assert read({"endless": endless}) == {"endless": [[[["…"]]]]}


def test_many_long_texts_are_all_there_and_each_is_shorter():
    facts = read({f"text{n}": "🍵" * MAX_TEXT for n in range(10)})
    assert len(facts) == 10
    assert all(text.endswith("more characters left out)") for text in facts.values())


def test_more_facts_than_fit_are_left_out_and_counted():
    facts = {f"name{n}": "🍵" * 80 for n in range(60)}
    kept = read(facts)
    assert 10 < len(kept) < 60
    assert kept["facts_left_out"] == 60 - (len(kept) - 1)
    assert len(bounded(facts).text) <= MAX_FACTS_BYTES


def test_a_long_name_is_cut():
    assert read({"n" * 1000: 1}) == {"n" * 100 + "…": 1}


@pytest.mark.parametrize(
    "value",
    [
        b"bytes",
        object(),
        {1, 2},
        float("nan"),
        float("inf"),
        -float("inf"),
        10**5000,
        {1: 2},
        [b"x"],
        {"a": [object()]},
        1j,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_not_json_is_refused(value):
    with pytest.raises(FactRefused):
        bounded({"fact": value})


@pytest.mark.parametrize("name", ["seq", "at", "kind", "previous", "hash"])
def test_what_every_record_has_cannot_be_said_again(name):
    with pytest.raises(AuditError, match=f'"{name}" is a reserved field name'):
        bounded({"a": 1, name: 1})


@given(st.dictionaries(NAMES, JSON, max_size=4), st.data())
def test_no_byte_of_a_line_can_be_changed_unnoticed(facts, data):
    line = sealed(7, "2026-11-16T11:00:00.000000+00:00", "k", bounded(facts).text, GENESIS)[0][:-1]
    place = data.draw(st.integers(0, len(line) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[place]))
    assert not is_intact(line[:place] + bytes([other]) + line[place + 1 :])


def test_the_hash_is_that_of_the_line_without_it():
    """So anybody can check it with the tools of a shell."""
    import hashlib
    import re

    line, own_hash = sealed(1, "2026-11-16T11:00:00.000000+00:00", "k", bounded({"a": "b"}).text, GENESIS)
    without = re.sub(rb',"hash":"[0-9a-f]{64}"}\n$', b"}", line)
    assert hashlib.sha256(without).hexdigest() == own_hash == json.loads(line)["hash"]
    assert json.loads(without) == {
        "seq": 1,
        "at": "2026-11-16T11:00:00.000000+00:00",
        "kind": "k",
        "a": "b",
        "previous": GENESIS,
    }
