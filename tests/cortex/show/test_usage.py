"""What was used is counted from records that anybody can have edited."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from cortex.show import HomeUse, gates, of_habits

NOON = datetime(2026, 11, 18, 12, tzinfo=UTC)
TODAY = NOON.astimezone().date()


@dataclass(frozen=True)
class Told:
    kind: str
    facts: dict[str, Any] = field(default_factory=dict)
    at: datetime = NOON


@dataclass(frozen=True)
class Paid:
    reason: str
    amount: float
    at: float = NOON.timestamp()


def usage(*records: Told, days: int = 30) -> HomeUse:
    found = HomeUse(TODAY - timedelta(days=days - 1), TODAY)
    for record in records:
        found.hear(record)
    return found


def run(**facts: Any) -> Told:
    return Told("execution", {"tier": "isolated", "ok": True, "code_hash": "a", **facts})


def test_runs_are_counted_by_tier_with_those_that_succeeded():
    found = usage(run(), run(tier="network", ok=False), run(cached=True, code_hash="b"), Told("refusal"))
    assert (dict(found.runs), found.succeeded["isolated"], found.succeeded["network"]) == (
        {"isolated": 2, "network": 1},
        2,
        0,
    )
    assert (found.all_runs, found.refused, found.cached, found.repeated_runs, found.days_with_runs) == (3, 1, 1, 1, 1)


def test_calls_of_learned_functions_and_emissions_are_model_calls_saved():
    calls = [Told("tool_call", {"tool": "learned.interest", "origin": "code", "ok": True})] * 3
    calls.append(Told("tool_call", {"tool": "learned.interest", "origin": "code", "ok": False}))
    found = usage(*calls, Told("emission"), Told("tool_call", {"tool": "shop.stock", "origin": "code"}))
    assert (found.learned_calls, found.emissions, found.model_calls_saved) == (3, 1, 4)
    assert dict(found.tools) == {"shop.stock": 1}


def test_decisions_are_counted_by_what_was_decided():
    asked = Told("neuron", {"what": "neuron propose"})
    found = usage(
        asked, asked, Told("owner_decision", {"what": "neuron reject"}), Told("owner_decision", {"what": "x"})
    )
    assert dict(found.decisions) == {"proposed": 2, "rejected": 1}


def test_what_is_outside_of_the_days_is_left_out():
    old = Told("execution", {"ok": True}, NOON - timedelta(days=3))
    assert usage(old, run(), days=3).all_runs == 1
    assert usage(old, run(), days=4).all_runs == 2


@pytest.mark.parametrize("facts", [{}, {"tier": ["x"], "ok": "yes", "code_hash": {"a": 1}}, {"tool": 3, "what": []}])
@pytest.mark.parametrize("kind", ["execution", "tool_call", "neuron", "owner_decision", "unheard_of"])
def test_facts_that_are_not_what_is_expected_count_as_nothing(kind, facts):
    assert usage(Told(kind, facts)).succeeded.total() == 0


def test_a_flood_of_names_does_not_grow_without_bound():
    found = usage(*(Told("tool_call", {"tool": f"t{n}", "origin": "code"}) for n in range(1_000)))
    assert len(found.tools) == 21
    assert found.tools["others"] == 980


def test_energy_is_what_was_taken_less_what_was_given_back():
    found = usage()
    for entry in (Paid("execution", -0.05), Paid("settled", 0.04), Paid("neuron x", -0.2), Paid("top-up", 0.5)):
        found.pay(entry)
    for odd in (Paid("execution", -1e300), Paid("execution", -1, at=1e300), Paid("execution", -1, at=0)):
        found.pay(odd)
    assert {kind: round(amount, 6) for kind, amount in found.energy.items()} == {"runs of code": 0.01, "neurons": 0.2}


@pytest.mark.parametrize(("days", "points", "spans"), [(30, 60, 30), (60, 20, 20), (366, 60, 53), (1, 60, 1)])
def test_a_series_has_at_most_so_many_points_and_loses_no_run(days, points, spans):
    records = [Told("execution", {}, NOON - timedelta(days=n)) for n in range(days)]
    series = usage(*records, days=days).series("runs", points)
    assert (len(series), sum(series)) == (spans, days)


def test_the_gates_are_answered_from_the_numbers():
    nothing = dict(gates(usage()))
    assert [answer.partition(":")[0] for answer in nothing.values()] == ["no", "no", "no", "not yet"]
    found = usage(run(), run(), run(tier="network"), Told("tool_call", {"tool": "learned.x", "ok": True}))
    found.habits = {"noticed": 2, "learned": 1}
    answers = dict(gates(found))
    assert answers["Does the agent use its hands?"] == "yes: 3 runs on 1 of 30 days, 100% succeeded"
    assert answers["Is the network needed?"] == "yes: 1 of 3 runs"
    assert answers["Does it write the same again?"] == "yes: 2 habits, 1 learned; 2 runs of the very same code"
    assert answers["Is what it learned used?"] == "yes: 0 awake, at least 1 model call saved"


def test_habits_are_counted_by_how_far_they_came():
    documents = [{}, {"told": 1.0}, {"told": 1.0, "hinted": 2.0, "neuron": "x"}]
    assert of_habits(documents) == {"scripts": 3, "noticed": 2, "told": 1, "learned": 1}


def test_a_day_that_is_none_is_no_day():
    assert HomeUse(date(2026, 1, 1), date(2026, 1, 1)).series("energy", 5) == [0.0]
