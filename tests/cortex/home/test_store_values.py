"""The pure part of a conversation's store: limits, one run's view, and the changes of several runs put together."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, strategies as st

from cortex.home.store_values import Draft, digest_of, merged, size_of
from cortex.settings import StoreSettings
from sandbox import ToolError

USUAL = StoreSettings()


def refusal(work) -> str:
    with pytest.raises(ToolError) as caught:
        work()
    return caught.value.code


def test_a_run_sees_what_was_kept_and_its_own_changes():
    draft = Draft({"a": b"1", "b": b"2"}, USUAL)
    draft.set("a", b"[3]")
    draft.set("c", b"null")
    assert (draft.delete("b"), draft.delete("b"), draft.delete("never")) == (True, False, False)
    assert [draft.get(key) for key in "abc"] == [b"[3]", None, b"null"]
    assert draft.keys() == ["a", "c"]
    assert draft.changes == {"a": b"[3]", "c": b"null", "b": None}


def test_bytes_are_those_of_keys_and_values_together_and_one_more_is_refused():
    settings = StoreSettings(max_bytes=10)
    draft = Draft({}, settings)
    draft.set("é", b'"123456"')  # two bytes and eight
    assert refusal(lambda: draft.set("a", b"")) == "limit"
    assert (draft.keys(), draft.changes) == (["é"], {"é": b'"123456"'})
    draft.set("é", b"1")
    draft.set("a", b"123456")


def test_the_default_limits_are_256_kib_and_100_keys():
    draft = Draft({}, USUAL)
    draft.set("k", b"x" * (256 * 1024 - 1))
    assert refusal(lambda: draft.set("k", b"x" * (256 * 1024))) == "limit"
    draft = Draft({}, USUAL)
    for number in range(100):
        draft.set(str(number), b"0")
    assert refusal(lambda: draft.set("100", b"0")) == "limit"
    draft.set("99", b"1")
    draft.delete("0")
    draft.set("100", b"0")


def test_a_store_beyond_a_limit_that_was_lowered_can_be_made_smaller():
    kept = {"a": b"x" * 50, "b": b"y" * 50}
    lowered = StoreSettings(max_bytes=10, max_keys=1)
    draft = Draft(kept, lowered)
    draft.set("a", b"x" * 40)
    draft.delete("b")
    assert merged(kept, draft.changes, lowered) == {"a": b"x" * 40}
    assert refusal(lambda: draft.set("a", b"x" * 41)) == "limit"


@pytest.mark.parametrize("key", ["", "k" * 257, "\ud800"])
def test_what_is_no_key_is_refused_by_every_operation(key):
    draft = Draft({}, USUAL)
    for work in (lambda: draft.get(key), lambda: draft.set(key, b"1"), lambda: draft.delete(key)):
        assert refusal(work) == "invalid_key"


@pytest.mark.parametrize("key", ["../../etc/passwd", "/", "__proto__", "constructor", "a\0b", "\u202e", "k" * 256])
def test_a_key_is_a_name_and_nothing_else(key):
    draft = Draft({}, USUAL)
    draft.set(key, b"1")
    assert (draft.keys(), draft.get(key)) == ([key], b"1")


def test_changes_of_two_runs_are_put_together_and_the_later_wins_for_one_key():
    kept = {"shared": b"0", "gone": b"0", "stays": b"0"}
    first, second = Draft(kept, USUAL), Draft(kept, USUAL)
    first.set("shared", b"1")
    first.set("of first", b"1")
    second.set("shared", b"2")
    second.delete("gone")
    after = merged(merged(kept, first.changes, USUAL), second.changes, USUAL)
    assert after == {"shared": b"2", "of first": b"1", "stays": b"0"}


def test_changes_that_pass_a_limit_only_together_are_refused_as_a_whole():
    settings = StoreSettings(max_keys=2)
    first, second = Draft({}, settings), Draft({}, settings)
    first.set("a", b"1")
    second.set("b", b"1")
    second.set("c", b"1")
    kept = merged({}, first.changes, settings)
    assert refusal(lambda: merged(kept, second.changes, settings)) == "limit"
    assert kept == {"a": b"1"}


def test_the_hash_of_changes_depends_on_each_key_and_value_and_not_on_their_order():
    assert digest_of({"a": b"1", "b": None}) == digest_of({"b": None, "a": b"1"})
    others = [{"a": b"1"}, {"a": None}, {"a1": b""}, {"a": b"1", "b": b"-"}, {"a": b"1", "b": None}]
    assert len({digest_of(changes) for changes in others}) == len(others)


KEYS = st.sampled_from(["a", "b", "__proto__", "é", ""])
STEPS = st.lists(st.tuples(st.sampled_from(["set", "delete", "get"]), KEYS, st.binary(max_size=8)), max_size=40)


@given(STEPS, st.dictionaries(st.sampled_from(["a", "b"]), st.binary(max_size=8)))
def test_a_draft_is_a_dictionary_that_stays_within_its_limits(steps, kept):
    settings = StoreSettings(max_bytes=40, max_keys=3)
    draft, model = Draft(kept, settings), dict(kept)
    for operation, key, value in steps:
        with contextlib.suppress(ToolError):
            match operation:
                case "set":
                    draft.set(key, value)
                    model[key] = value
                case "delete":
                    assert draft.delete(key) is (model.pop(key, None) is not None)
                case "get":
                    assert draft.get(key) == model.get(key)
        assert draft.keys() == sorted(model)
        assert size_of(model) <= max(40, size_of(kept))
        assert len(model) <= 3
    assert merged(kept, draft.changes, settings) == model
