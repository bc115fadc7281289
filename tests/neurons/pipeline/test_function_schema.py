"""The schemas of a learned function are small, plain and closed."""

from __future__ import annotations

import pytest

from neurons import Proposal, Refused

GIVEN = {
    "name": "CompoundInterest",
    "purpose": "Interest upon interest",
    "code": "return args.p * (1 + args.r) ** args.n",
    "energyBudget": 0.01,
    "kind": "function",
}
NUMBERS = {"type": "object", "properties": {name: {"type": "number"} for name in "prn"}}


def function(**changes):
    return Proposal.of({**GIVEN, "parameters": NUMBERS, **changes})


def test_a_function_takes_one_closed_object():
    assert function().parameters == {**NUMBERS, "additionalProperties": False}


def test_properties_alone_are_taken_for_the_schema():
    only = {"p": {"type": "number"}, "r": {"type": "number"}}
    assert function(parameters=only).parameters == {
        "type": "object",
        "properties": only,
        "required": ["p", "r"],
        "additionalProperties": False,
    }


def nested(levels):
    schema = {"type": "number"}
    for _ in range(levels):
        schema = {"type": "array", "items": schema}
    return schema


@pytest.mark.parametrize(
    "parameters",
    [
        None,
        {"type": "array", "items": {"type": "number"}},
        {"type": "object", "properties": {f"p{n}": {"type": "number"} for n in range(17)}},
        {"type": "object", "properties": {"p": {"$ref": "#/p"}}},
        {"type": "object", "properties": {"p": {"type": "string", "pattern": "(a+)+$"}}},
        {"type": "object", "properties": {"p": {"type": "bigint"}}},
        {"type": "object", "properties": {"p": {"type": [{}]}}},
        {"type": "object", "properties": {"p": 1}},
        {"type": "object", "properties": {"p": {"description": "x" * 5_000}}},
        {"type": "object", "properties": {"p": {"anyOf": 3}}},
        {"type": "object", "properties": {"p": {"additionalProperties": {"$ref": "#"}}}},
        {"type": "object", "properties": {"p": {"additionalProperties": {"type": "string", "pattern": "(a+)+$"}}}},
        {"type": "object", "properties": {"p": {"additionalProperties": 3}}},
        {"type": "object", "properties": {"p": {"minimum": "three"}}},
        {"type": "object", "properties": {"p": {"description": "\ud800"}}},
        {"type": "object", "properties": {"\ud800": {}}},
        {"type": "object", "properties": {"p": nested(300)}},
        {"type": "object", "properties": {"p": nested(30_000)}},
    ],
)
def test_a_schema_that_costs_or_hides_too_much_is_refused(parameters):
    with pytest.raises(Refused, match=r"parameters|proposal"):
        function(parameters=parameters)


def test_the_schema_of_a_result_hides_no_more_than_that_of_the_arguments():
    with pytest.raises(Refused, match="returns"):
        function(returns={"type": "object", "additionalProperties": {"type": "string", "pattern": "(a+)+$"}})


def test_what_else_an_object_may_hold_can_have_a_plain_schema():
    other = {"type": "object", "additionalProperties": {"type": "number"}}
    assert function(returns=other).returns == other


@pytest.mark.parametrize(
    "change", [{"inputSignals": ["tick"]}, {"outputSignals": ["done"]}, {"schedules": ["every 15m"]}]
)
def test_a_function_has_neither_signals_nor_schedules(change):
    with pytest.raises(Refused, match="a function is called by code"):
        function(**change)


def test_a_neuron_has_no_parameters_and_answers_something():
    with pytest.raises(Refused, match="only a function has parameters"):
        function(kind="neuron", inputSignals=["tick"])
    with pytest.raises(Refused, match="a neuron answers something"):
        function(kind="neuron", parameters=None)


def test_an_owner_is_told_of_no_action_of_a_function():
    assert function().policy.emission.action == "none"


def test_a_neuron_may_have_schedules_alone_and_tells_the_owner_by_default():
    proposal = function(kind="neuron", parameters=None, schedules=["every 15m"])
    assert [str(one) for one in proposal.policy.schedules] == ["every 15m"]
    assert proposal.policy.emission.action == "notify"


def test_the_signal_of_a_schedule_is_no_input_signal():
    with pytest.raises(Refused, match="name it in schedules"):
        function(kind="neuron", parameters=None, inputSignals=["schedule"])


@pytest.mark.parametrize(
    ("name", "called"),
    [
        ("CompoundInterest", "compoundInterest"),
        ("compound interest", "compoundInterest"),
        ("compound_interest", "compoundInterest"),
        ("HTTPStatus", "httpStatus"),
        ("VAT", "vat"),
        ("A1 report", "a1Report"),
    ],
)
def test_a_function_is_called_by_its_name_in_small_letters(name, called):
    from neurons.contracts import function_name

    assert function_name(name) == called
