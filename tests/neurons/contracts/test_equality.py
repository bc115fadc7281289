"""What an owner reads of a comparison: never more than was compared."""

from __future__ import annotations

from neurons import Difference, Equality


def test_the_line_says_what_was_compared_and_what_could_not_be():
    assert Equality(runs=5, compared=41, equal=41).line == "equal on 41 of 41: 5 recorded runs and 36 changed inputs"
    assert Equality(runs=1, compared=1, equal=0, skipped=3).line == (
        "equal on 0 of 1: 1 recorded run; 3 runs could not be repeated"
    )
    assert Equality(runs=2, compared=3, equal=3, is_cut=True).line == (
        "equal on 3 of 3: 2 recorded runs and 1 changed input; there was no time for more"
    )


def test_of_a_neuron_whose_emission_cannot_be_compared_only_the_calls_are_claimed():
    line = Equality(runs=9, compared=9, equal=9, only_calls=True, asked=("shop.stock", "api.x.example")).line
    assert line == (
        "asks the same of shop.stock and api.x.example in 9 of 9: 9 recorded runs; what it emits could not be compared"
    )


def test_a_neuron_that_asks_for_other_things_is_said_to_and_not_counted():
    found = Difference(
        input="recorded run 1",
        script='calls only shop.stock {"item":"milk"}',
        candidate='also calls shop.stock {"item":"tea"}',
    )
    said = Equality(runs=1, compared=1, only_calls=True, asked=("shop.stock",), first_difference=found)
    assert said.line == (
        "asks shop.stock for other things than the recorded scripts, so what it emits cannot be compared"
    )
    some = said.model_copy(update={"compared": 4, "equal": 3, "runs": 2, "skipped": 1})
    assert some.line == f"{said.line}; asks for the same in 3 of 4 inputs; 1 run could not be repeated"
    assert found.line == (
        'on recorded run 1: the script calls only shop.stock {"item":"milk"}, and it also calls shop.stock {"item":"tea"}'
    )
    failed = found.model_copy(update={"candidate": "failed: ToolError: no"})
    assert said.model_copy(update={"first_difference": failed}).line == (
        "asks the same of shop.stock in 0 of 1: 1 recorded run; what it emits could not be compared"
    )


def test_nothing_compared_is_no_equality():
    assert Equality(skipped=3, why="its scripts were not kept").line == (
        "not compared with the recorded scripts: its scripts were not kept"
    )
    assert not Equality().is_different
    assert Equality(first_difference=Difference(input="a", script="1", candidate="2")).is_different


def test_a_difference_says_what_each_gave_called_or_failed_with():
    assert Difference(input="run 1", script="1", candidate="2").line == "on run 1: the script gave 1, and it gave 2"
    failed = Difference(input="run 1", script="calls nothing", candidate="failed: ToolError: no")
    assert failed.line == "on run 1: the script calls nothing, and it failed: ToolError: no"
