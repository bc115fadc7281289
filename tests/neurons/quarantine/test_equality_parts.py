"""The pure parts of comparing: changed inputs, equal values, arguments found in scripts, and what a difference means."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, strategies as st

from neurons import Difference, Equality
from neurons.habits import Place
from neurons.quarantine.arguments import assignments, varying_in
from neurons.quarantine.equality_report import schemas_of, with_equality
from neurons.quarantine.mutations import mutations
from neurons.quarantine.same_values import same
from neurons.quarantine.verdicts import Gave, difference, promises_nothing
from neurons.quarantine.worlds import Calls
from sandbox.testing import FunctionTools
from tests.neurons.candidates import candidate
from tests.neurons.governance import report_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-99, 99) | st.floats(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_each_mutation_is_another_value_and_leaves_the_original_alone(value):
    before = copy.deepcopy(value)
    made = list(mutations(value, [5, "open"]))
    assert value == before
    assert [one.what for one in made] == [one.what for one in mutations(value, [5, "open"])]
    assert all(one.value is not value for one in made)


@pytest.mark.parametrize("huge", [10**400, -(10**400), 10**4299, 1e308, float("inf"), float("nan")], ids=range(6))
def test_nothing_is_computed_with_a_number_beyond_all_bounds(huge):
    made = [one.value for one in mutations({"n": huge, "m": 1}, [huge, 5])]
    assert {"n": 0, "m": 1} in made
    assert {"n": huge, "m": 5} in made


def test_a_bound_of_the_programs_is_put_into_numbers_and_lists_grow_beyond_it():
    values = [one.value for one in mutations({"rows": [{"n": 1}], "limit": 9}, [5])]
    assert {"rows": [{"n": 5}], "limit": 9} in values
    assert any(len(value.get("rows", [])) == 6 for value in values)
    assert {"rows": [], "limit": 9} in values


def test_numbers_are_left_out_only_where_the_script_expects_it():
    assert {} not in [one.value for one in mutations({"n": 1})]
    assert {} in [one.value for one in mutations({"n": 1}, may_lack=True)]
    assert {} in [one.value for one in mutations({"n": "a"})]


def test_values_are_the_same_whatever_the_order_of_members_and_the_last_bit_of_a_sum():
    assert same({"a": 0.1 + 0.2, "b": [1, None]}, {"b": [1.0, None], "a": 0.3})
    assert same({"a": 1, "b": None}, {"a": 1})
    assert same(-0.0, 0)
    assert not same([1, 2], [2, 1])
    assert not same(1, True)
    assert not same("1", 1)
    assert not same(1000, 1000.001)
    assert not same({"a": 1}, {"a": 1, "b": 0})


def place(value: object, label: str = "", at: int = 0, form: str = "value") -> Place:
    return Place(at, at + 1, form, label, value, (0, 0))


SCHEMA = {"properties": {"coin": {"type": "string"}, "days": {"type": "integer"}}, "required": ["coin", "days"]}


def test_arguments_come_from_the_context_then_from_constants_by_name_then_from_those_that_vary():
    places = [place(7, "days", 1), place(3, "retries", 2), place("btc", "x", 3), place("usd", "y", 4)]
    [first, *_] = assignments(SCHEMA, {}, places, ["btc"])
    assert first.arguments == {"coin": "btc", "days": 7}
    [first, *_] = assignments(SCHEMA, {"days": 9}, places, ["btc"])
    assert first.arguments == {"days": 9, "coin": "btc"}
    assert assignments(SCHEMA, {}, [place("btc")], []) == []


def test_an_argument_that_may_be_null_is_found_in_the_scripts_too():
    optional = {"properties": {"days": {"type": ["integer", "null"]}}}
    [first, *_] = assignments(optional, {}, [place("btc"), place(7)], [7])
    assert first.arguments == {"days": 7}


def test_a_value_that_varies_is_one_argument_wherever_it_stands_and_a_constant_is_not():
    places = [place("web", "repo", 1), place("web", "repo", 9), place(7, "days", 4), place(7, "slice", 5)]
    [first, *_] = assignments({"properties": {"repo": {"type": "string"}}}, {}, places, ["web"])
    assert len(first.places["repo"]) == 2
    [first, *_] = assignments({"properties": {"days": {"type": "integer"}}}, {}, places, ["web"])
    assert first.places["days"] == (places[2],)
    assert varying_in([[place("web"), place(7)], [place("api"), place(7)]], 0) == ["web"]


def test_what_breaks_by_accident_promises_nothing_and_what_fails_on_purpose_does():
    assert promises_nothing(Gave(failed="TypeError: x", error="TypeError"), "return a.b")
    assert not promises_nothing(Gave(failed="RangeError: x", error="RangeError"), 'throw new RangeError("x")')
    assert not promises_nothing(Gave(failed="Error: x", error="Error"), "")
    assert promises_nothing(Gave(value={"total": None}, is_odd=True), "")
    assert promises_nothing(Gave(value="about NaN"), "")


def test_effects_have_to_be_the_same_as_often_and_reads_may_be_fewer():
    script, candidate_ = Calls(["mail {}", "mail {}"], {"GET a", "GET b"}), Calls(["mail {}", "mail {}"], {"GET a"})
    assert difference(Gave(calls=script), Gave(calls=candidate_)) is None
    assert difference(Gave(calls=script), Gave(calls=Calls(["mail {}"], {"GET a"}))) is not None
    assert difference(Gave(calls=script), Gave(calls=Calls(["mail {}", "mail {}"], {"GET c"}))) is not None
    assert difference(Gave(failed="Error: a"), Gave(failed="Error: b")) is None
    assert difference(Gave(value=1), Gave(failed="Error: b")) == ("1", "failed: Error: b")


def test_a_difference_rejects_what_was_said_to_come_of_the_habit_and_is_a_finding_for_a_guess():
    report = report_of(candidate())
    found = Difference(input="recorded run 1", script="1", candidate="2")
    named = with_equality(report, Equality(compared=1, first_difference=found))
    assert "the script gave 1, and it gave 2" in named.problems[0]
    guessed = with_equality(report, Equality(compared=1, first_difference=found, is_named=False))
    assert guessed.passed
    assert "may be its habit" in guessed.findings[0]
    assert with_equality(report, Equality(compared=1, equal=1)).passed


def test_a_hash_says_whether_a_tool_takes_or_gives_something_else():
    async def nothing(_: object) -> None: ...

    before = schemas_of(FunctionTools({"a.b": nothing}), ["a.b", "gone"])
    after = schemas_of(FunctionTools({"a.b": nothing}, {"a.b": {"type": "object"}}), ["a.b"])
    assert [*before] == ["a.b"]
    assert before != after
    assert schemas_of(None, ["a.b"]) == {}
