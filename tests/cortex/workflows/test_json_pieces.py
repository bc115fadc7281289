"""JSON in pieces is the JSON that one call writes, and no piece is long."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest
from hypothesis import given, strategies as st

from cortex.workflows import checked, hash_of, input_hash
from cortex.workflows.json_pieces import pieces
from cortex.workflows.plan import MAX_STATE_NAMES, Finished, PlanError, context_of
from tests.cortex.workflows.support import code

PLAIN = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
SORTED = json.JSONEncoder(separators=(",", ":"), sort_keys=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=6), inner, max_size=6),
    max_leaves=40,
)


@given(VALUES, st.sampled_from([PLAIN, SORTED]))
def test_the_pieces_together_are_what_the_encoder_writes(value, encoder):
    with patch("cortex.workflows.json_pieces.PIECE_VALUES", 5), patch("cortex.workflows.json_pieces._MOST_ITEMS", 2):
        assert "".join(pieces(value, encoder)) == encoder.encode(value)


def test_no_piece_of_many_small_values_is_long():
    value = {"state": {f"k{n}": [n, {"deep": [n]}] for n in range(20_000)}, "list": [[n] for n in range(20_000)]}
    found = list(pieces(value, SORTED))
    assert max(map(len, found)) < 50_000
    assert "".join(found) == SORTED.encode(value)


def test_what_is_not_json_is_refused_in_pieces_too():
    with pytest.raises(ValueError, match="not JSON compliant"):
        "".join(pieces([["x" * 1_000] * 500, float("nan")], PLAIN))


def test_states_that_code_chose_are_hashed_one_by_one_and_bounded_together():
    names = 30_000
    steps = checked({"name": "n", "tasks": [*(code(f"t{n}", "return 1") for n in range(8)), code("last", "1", "t0")]})
    wide = steps.tasks[-1].model_copy(update={"dependencies": tuple(f"t{n}" for n in range(8))})
    plan = steps.model_copy(update={"tasks": (*steps.tasks[:-1], wide)})
    ended = {f"t{n}": Finished("ok", {"state": {f"k{n}-{i}": 0 for i in range(names)}}) for n in range(8)}
    assert 8 * names > MAX_STATE_NAMES
    with pytest.raises(PlanError, match="a state of 240000 names"):
        context_of(wide, plan, ended)
    longest = []

    def seen(value, encoder):
        found = list(pieces(value, encoder))
        longest.append(max(map(len, found)))
        return found

    with patch("cortex.workflows.plan.pieces", seen):
        first = input_hash(wide, plan, ended)
    assert max(longest) < 50_000
    ended["t3"] = Finished("ok", {"state": {"other": 1}})
    assert input_hash(wide, plan, ended) != first
    assert hash_of({"b": 1, "a": [1]}) == hash_of({"a": [1], "b": 1})


def test_a_state_cannot_name_another_task():
    plan = checked({"name": "n", "tasks": [code("a", "1"), code("b", "1", "a"), code("c", "1", "b")]})
    ended = {"a": Finished("ok", {"state": {"x": 1, "a": 2}}), "b": Finished("ok", {"state": {"a": "forged", "b": 3}})}
    assert context_of(plan.task("c"), plan, ended) == {"x": 1, "a": 2, "b": {"state": {"a": "forged", "b": 3}}}
