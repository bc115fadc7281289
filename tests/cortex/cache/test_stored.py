from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from cortex.cache.result_cache import MAX_BYTES, Stored, body_of, file_of, outcome_of, stored_of
from sandbox import ExecutionOutcome, LogEntry, Metrics

KEY, OTHER = "a" * 64, "b" * 64
TEXT = st.text(st.characters(exclude_categories=("Cs",)))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=10,
)


@given(JSON, st.lists(st.tuples(st.sampled_from(["log", "error"]), TEXT), max_size=3))
def test_a_stored_result_is_read_back_unchanged(result: object, logs: list[tuple[str, str]]):
    entries = tuple(LogEntry(level, text) for level, text in logs)
    body = body_of(ExecutionOutcome(ok=True, result=result, logs=entries, metrics=Metrics(level="full", layers=("x",))))
    assert body is not None
    found = outcome_of(body)
    assert found is not None
    assert (found.ok, found.result, found.logs, found.error) == (True, result, entries, None)
    assert (found.metrics.cached, found.metrics.level, found.metrics.layers) == (True, "full", ("x",))


def test_a_stored_file_is_valid_only_under_its_own_key():
    stored = Stored(12.5, b'[2,[],"none",[]]')
    assert stored_of(KEY, file_of(KEY, stored)) == stored
    assert stored_of(OTHER, file_of(KEY, stored)) is None


@given(st.data())
def test_a_stored_file_damaged_anywhere_is_rejected(data: st.DataObject):
    file = file_of(KEY, Stored(12.5, b'[2,[],"none",[]]'))
    place = data.draw(st.integers(0, len(file) - 1))
    change = data.draw(st.integers(1, 255))
    assert stored_of(KEY, file[:place]) is None
    assert stored_of(KEY, file[:place] + bytes([file[place] ^ change]) + file[place + 1 :]) is None
    assert stored_of(KEY, file + bytes([change])) is None


def test_a_stored_file_with_an_invalid_time_is_rejected():
    from cortex.cache.result_cache import _digest

    rest = b"soon\n[]"
    assert stored_of(KEY, _digest(KEY, rest) + rest) is None


@pytest.mark.parametrize(
    "body", [b"", b"[", b"null", b"[1]", b"[1,2,3,4]", b"[1,[[1]],3,[]]", b"[1,[],3,4]", b"{}", b'[NaN,[],"x",[]]']
)
def test_a_body_that_is_no_result_is_rejected(body: bytes):
    assert outcome_of(body) is None


@pytest.mark.parametrize(
    "outcome",
    [
        ExecutionOutcome(ok=True, result="x" * MAX_BYTES),
        ExecutionOutcome(ok=True, logs=(LogEntry("log", "x" * (MAX_BYTES + 1)),)),
        ExecutionOutcome(ok=True, result="\ud800"),
        ExecutionOutcome(ok=True, result=[math.nan]),
        ExecutionOutcome(ok=True, result={"a": -math.inf}),
    ],
    ids=["result", "logs", "surrogate", "NaN", "Infinity"],
)
def test_a_result_that_is_too_large_or_not_json_is_not_stored(outcome: ExecutionOutcome):
    assert body_of(outcome) is None


def test_a_text_with_the_word_nan_is_stored():
    assert body_of(ExecutionOutcome(ok=True, result="NaN, or Infinity")) is not None
