"""What the hashes tell apart, and what not."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, strategies as st

from neurons import Policy, code_hash, policy_hash
from neurons.contracts import Emission, Schedule
from neurons.pipeline.hashes import about_hash, shown_hash
from sandbox import Tier
from tests.neurons.governance import Governed

POLICY = Policy(
    tier=Tier.NETWORK,
    hosts=("a.example", "b.example"),
    tools=("shop.stock",),
    input_signals=("tick",),
    output_signals=("price", "alarm"),
    energy_budget=0.02,
)


def test_the_code_hash_is_sha256_of_the_code_in_utf8():
    assert code_hash("return 'ü'") == hashlib.sha256("return 'ü'".encode()).hexdigest()


def test_half_a_surrogate_pair_has_a_hash_of_its_own():
    assert len({code_hash("\ud800"), code_hash("\udc00"), code_hash("?"), code_hash("")}) == 4


@pytest.mark.parametrize(
    "change",
    [
        {"tier": Tier.ISOLATED},
        {"hosts": ("a.example",)},
        {"hosts": ()},
        {"tools": ()},
        {"tools": ("shop.stock", "shop.order")},
        {"input_signals": ("tick", "energy")},
        {"output_signals": ("price",)},
        {"energy_budget": 0.020001},
        {"kind": "function"},
        {"schedules": (Schedule(every="15m"),)},
        {"schedules": (Schedule(every="15m"), Schedule(at="09:00 mon-fri", zone="Europe/Berlin"))},
        {"emission": Emission(action="notify")},
        {"emission": Emission(text="{price} now")},
        {"parameters": {"type": "object"}},
        {"returns": {"type": "number"}},
    ],
)
def test_each_part_of_the_policy_counts(change):
    assert policy_hash(POLICY.model_copy(update=change)) != policy_hash(POLICY)


def test_every_field_of_the_policy_is_in_its_hash():
    """A field that is added later has to be tried above."""
    first = {"tier", "hosts", "tools", "input_signals", "output_signals", "energy_budget"}
    assert set(Policy.model_fields) == first | {"kind", "schedules", "emission", "parameters", "returns"}


def test_the_hash_of_a_policy_without_later_fields_is_what_it_was_before_they_existed():
    facts = '{"energyBudget":0.02,"hosts":[],"inputSignals":["energy","tick"],"outputSignals":[],"tier":"isolated","tools":[]}'
    policy = Policy(input_signals=("tick", "energy"), energy_budget=0.02)
    assert policy_hash(policy) == hashlib.sha256(facts.encode()).hexdigest()


def test_the_order_of_hosts_tools_and_signals_does_not_count():
    turned = POLICY.model_copy(update={"hosts": POLICY.hosts[::-1], "output_signals": POLICY.output_signals[::-1]})
    assert policy_hash(turned) == policy_hash(POLICY)


def test_a_host_is_not_taken_for_a_tool():
    assert policy_hash(POLICY.model_copy(update={"hosts": (), "tools": ("x",)})) != policy_hash(
        POLICY.model_copy(update={"hosts": ("x",), "tools": ()})
    )


_texts = st.text(max_size=20)


@given(st.tuples(_texts, _texts, _texts, _texts, _texts), st.tuples(_texts, _texts, _texts, _texts, _texts))
def test_no_two_questions_have_the_same_hash(one, other):
    assert (shown_hash(*one) == shown_hash(*other)) is (one == other)


def test_what_the_owner_reads_beside_the_code_counts():
    neuron = Governed().waiting()
    assert neuron.report is not None
    meta = neuron.metadata
    others = [
        {"name": "Other"},
        {"version": 2},
        {"metadata": meta.model_copy(update={"purpose": "Something else"})},
        {"metadata": meta.model_copy(update={"habit": "another"})},
        {"metadata": meta.model_copy(update={"author": "owner"})},
        {"report": None},
        {"report": neuron.report.model_copy(update={"findings": ("it fetches",)})},
        {"report": neuron.report.model_copy(update={"problems": ("it crashed",)})},
        {"report": neuron.report.model_copy(update={"scenarios": ()})},
    ]
    hashes = {about_hash(neuron.model_copy(update=change)) for change in others}
    assert len(hashes) == len(others)
    assert about_hash(neuron) not in hashes


def test_what_the_neuron_does_while_it_is_awake_does_not_count():
    neuron = Governed().in_trial()
    busy = neuron.model_copy(
        update={"state": {"seen": 1}, "counters": neuron.counters.model_copy(update={"errors": 3})}
    )
    assert about_hash(busy) == about_hash(neuron)
