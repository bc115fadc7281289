"""JSON texts are counted before they are parsed: never less than they hold, wherever they are split into pieces."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic_core import from_json

from sandbox.contracts import MalformedFrame
from sandbox.contracts.frames import decode
from sandbox.contracts.json_meter import JsonLimits, JsonMeter, TooComplex, bounded_json, check_json

PLENTY = JsonLimits(containers=10**9, values=10**9)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('[]{},:"\\a\u2028é'), max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)


def counted(value: Any) -> tuple[int, int]:
    """Containers and commas of a value, by walking it."""
    if not isinstance(value, list | dict):
        return 0, 0
    inner = [counted(part) for part in (value.values() if isinstance(value, dict) else value)]
    return 1 + sum(one for one, _ in inner), max(0, len(value) - 1) + sum(commas for _, commas in inner)


def metered(text: bytes, cuts: list[int]) -> tuple[int, int]:
    meter = JsonMeter(PLENTY)
    for start, end in pairwise([0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]):
        meter.feed(text[start:end])
    return meter._containers, meter._commas


@given(VALUES, st.booleans(), st.lists(st.integers(0, 200), max_size=6))
def test_a_text_is_counted_exactly_wherever_it_is_cut(value, is_ascii, cuts):
    assert metered(json.dumps(value, ensure_ascii=is_ascii).encode(), cuts) == counted(value)


@given(st.text(st.sampled_from('[],"\\{}: 1ax'), max_size=40), st.lists(st.integers(0, 40), max_size=4))
def test_a_text_that_is_not_json_is_never_counted_as_less_than_a_parser_makes_of_its_beginning(text, cuts):
    """The parser ends at the first character that is not JSON: what it has made until then was counted."""
    data = text.encode()
    containers, commas = metered(data, cuts)
    for end in range(len(data), 0, -1):
        try:
            value = from_json(data[:end], allow_partial="trailing-strings")
        except ValueError:
            continue
        made, separated = counted(value)
        assert containers >= made
        assert commas >= separated
        break


@pytest.mark.parametrize(
    ("text", "limits", "what"),
    [
        ("[[],[]]", JsonLimits(2, 100), "more than 2 objects and arrays"),
        ('[{"a":1}]', JsonLimits(1, 100), "more than 1 objects and arrays"),
        ("[1,2,3,4]", JsonLimits(100, 2), "more than 2 values"),
        ('[10,-2.5e3,"123456"]', JsonLimits(100, 100, 4), "more than 4 digits"),
        ('[12,-2.5e3,"123456",123]' + " " * 100, JsonLimits(100, 100, 100, 2), "a number of more than 2 digits"),
    ],
)
def test_what_is_over_a_limit_is_refused_and_what_is_at_it_is_parsed(text, limits, what):
    with pytest.raises(TooComplex, match=what):
        bounded_json(text, limits)
    more = JsonLimits(*(limit + 1 if limit else 0 for limit in limits))
    assert bounded_json(text.encode(), more) == json.loads(text)


def test_brackets_and_commas_in_strings_count_for_nothing():
    text = json.dumps(["[{,\\\"'" * 1000])
    check_json(text, JsonLimits(1, 0))
    assert bounded_json(text, JsonLimits(1, 0)) == json.loads(text)


def test_a_meter_can_begin_with_the_next_text_in_the_middle_of_one():
    meter = JsonMeter(JsonLimits(1, 0))
    meter.feed(b'[["an open string \\')
    assert meter.is_over
    meter.begin()
    meter.feed(b"[1]")
    meter.check()


def test_numbers_are_bounded_by_the_parser_itself():
    """Reading a number takes time by the square of its length; the meter relies on this limit."""
    assert bounded_json(b"9" * 4_300, PLENTY) == int("9" * 4_300)
    with pytest.raises(ValueError, match="number out of range"):
        bounded_json(b"9" * 4_301, PLENTY)


@pytest.mark.parametrize("cut", range(1, 7))
def test_a_number_is_as_long_wherever_the_text_is_cut(cut):
    for number, is_over in (("1234", False), ("12345", True)):
        meter = JsonMeter(JsonLimits(9, 9, 99, 4))
        text = f"[{number}]".encode()
        meter.feed(text[:cut])
        meter.feed(text[cut:])
        assert meter.is_over is is_over


def test_a_frame_of_long_numbers_is_refused_before_they_are_read():
    """Two megabytes of them take a tenth of a second to read and to write again, on the event loop."""
    value = "[" + ("9" * 4_299 + ",") * 460 + "1]"
    frame = f'{{"type":"__store__","call_id":"1","operation":"set","key":"k","value":{value}}}'
    with pytest.raises(MalformedFrame, match="a frame of a number of more than 400 digits"):
        decode(frame.encode())
