"""What models send to the cortex's own tools, and what is made of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from cortex import Settings
from cortex.tools import CORE_TOOLS, MAX_ARGUMENT_CHARACTERS, PLAN, arguments_for, code_arguments
from sandbox import ToolError

WHOLE = {"purpose": "sum", "code": "return 1", "timeout": 1000, "tier": "network"}


def refused(name: str, raw: Any) -> str:
    with pytest.raises(ToolError) as caught:
        arguments_for(name, raw)
    assert caught.value.code == "invalid_arguments"
    assert 0 < len(str(caught.value)) <= 1000
    return str(caught.value)


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        (WHOLE, WHOLE),
        (json.dumps(WHOLE), WHOLE),
        (json.dumps(json.dumps(WHOLE)), WHOLE),
        ({"purpose": "sum", "code": "return 1", "timeout": None, "tier": None}, {"purpose": "sum", "code": "return 1"}),
        ({"Purpose": "sum", "CODE": "return 1"}, {"purpose": "sum", "code": "return 1"}),
        ({**WHOLE, "timeout": "1000"}, WHOLE),
        ({**WHOLE, "timeout": 1000.0}, WHOLE),
        ({**WHOLE, "timeout": " 1e3 "}, WHOLE),
        ({**WHOLE, "tier": "NETWORK"}, WHOLE),
        ({**WHOLE, "tier": "Network"}, WHOLE),
        ({**WHOLE, "timeout": -5}, {**WHOLE, "timeout": -5}),
        ({**WHOLE, "timeout": 2.5}, {**WHOLE, "timeout": 2.5}),
        ({"code": "return 1", "timeoutMs": "1000"}, {"code": "return 1", "timeout": 1000}),
        ({"code": "return 1", "timeout_ms": 1000}, {"code": "return 1", "timeout": 1000}),
        ({"code": "return 1", "timeout": 7, "timeoutMs": 1000}, {"code": "return 1", "timeout": 7}),
        ({"code": "return 1", "timeout": None, "timeoutMs": 1000}, {"code": "return 1", "timeout": 1000}),
        ({"script": "return 1", "reason": "sum"}, {"code": "return 1", "purpose": "sum"}),
        ({"code": "return 1", "expected_output": "a number"}, {"code": "return 1", "expectedOutput": "a number"}),
        ({"code": "return 1", "purpose": 5}, {"code": "return 1", "purpose": "5"}),
        ({"code": ["const a = 1", "return a"]}, {"code": "const a = 1\nreturn a"}),
        ({"code": "```ts\nreturn 1\n```"}, {"code": "return 1"}),
        ({"code": "\n```javascript\nreturn `a`\n```\n"}, {"code": "return `a`"}),
        ({"code": "```\nreturn 1```"}, {"code": "return 1"}),
        ({"code": "return '```'"}, {"code": "return '```'"}),
        ({"code": "```ts return 1```"}, {"code": "```ts return 1```"}),
        ("return 1 + 1", {"code": "return 1 + 1"}),
        ('"return 1 + 1"', {"code": "return 1 + 1"}),
        ("```js\nreturn 1 + 1\n```", {"code": "return 1 + 1"}),
        ("[1, 2].map((n) => n + 1)", {"code": "[1, 2].map((n) => n + 1)"}),
        ('{"code": "const a = 1\nreturn a"}', {"code": "const a = 1\nreturn a"}),
        ('```json\n{"code": "return 1"}\n```', {"code": "return 1"}),
        ({"code": "return 1", "timeout": float("nan")}, {"code": "return 1"}),
        ('{"code": "return 1", "timeout": 1e999}', {"code": "return 1"}),
    ],
)  # fmt: skip
def test_what_weak_models_send_to_core_execute_is_understood(sent, meant):
    assert arguments_for("core.execute", sent) == meant


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (None, 'core.execute needs "code": the body of an async function'),
        ({}, 'core.execute needs "code"'),
        ("", 'core.execute needs "code"'),
        ({"purpose": "x", "code": "  \n"}, 'core.execute needs "code"'),
        ({"code": None}, 'core.execute needs "code"'),
        ({"cancel": True}, 'core.execute needs "job": the handle of the job to cancel'),
        ({"code": {"a": 1}}, '"code" is a text'),
        ({"code": "x", "timeout": "soon"}, '"timeout" is a number'),
        ({"code": "x", "timeout": True}, '"timeout" is a number'),
        ({"code": "x", "timeout": "Infinity"}, "not finite"),
        ({"code": "x", "tier": "root"}, '"tier" is one of isolated, network'),
        ({"code": "x", "tier": ["network"]}, '"tier" is one of'),
        ('{"code": "return 1', "Send one whole object"),
        ('{"code": "return "1""}', "are not JSON"),
        ("17", "takes one object with its arguments, not a number"),
        ("[1]", "not an array"),
        (17, "not a number"),
        ("x" * (MAX_ARGUMENT_CHARACTERS + 1), "characters long"),
        ({"code": "\ud800"}, "are not JSON"),
    ],
)  # fmt: skip
def test_what_core_execute_cannot_understand_is_said(sent, says):
    assert says in refused("core.execute", sent)


def test_nothing_can_be_given_that_is_not_a_parameter():
    sent = {
        "code": "x",
        "hosts": ["evil"],
        "context": {"is": "of execute_code"},
        "max_memory_mb": 1_000_000,
        "network": {"allow": ["*"]},
        "__class__": 1,
        "guard": False,
    }
    assert arguments_for("core.execute", sent) == {"code": "x"}


LEARN = {
    "name": "CryptoPrice",
    "purpose": "Tell when the price moves",
    "code": "emit('price_change', 1)",
    "inputSignals": ["tick"],
    "outputSignals": ["price_change"],
    "energyBudget": 0.02,
}


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        (LEARN, LEARN),
        (json.dumps(LEARN), LEARN),
        ([LEARN], LEARN),
        ({**LEARN, "energyBudget": "0.02"}, LEARN),
        ({**LEARN, "inputSignals": "tick"}, LEARN),
        ({**LEARN, "inputSignals": '["tick"]'}, LEARN),
        ({**LEARN, "inputSignals": ["tick", "tick", " "]}, LEARN),
        ({**LEARN, "code": "```js\nemit('price_change', 1)\n```"}, LEARN),
        ({**LEARN, "tier": "Network", "hosts": "a.example, b.example"}, {**LEARN, "tier": "network", "hosts": ["a.example", "b.example"]}),
        ({**LEARN, "tier": None, "hosts": None, "tools": None, "habit": None}, LEARN),
        ({**LEARN, "tools": ["shop.stock"], "habit": "ab12"}, {**LEARN, "tools": ["shop.stock"], "habit": "ab12"}),
        ({**LEARN, "approve": True, "status": "active", "id": "x", "approvedBy": "owner", "state": {}}, LEARN),
        ({"name": "A", "description": "b", "script": "c", "inputs": ["tick"], "outputs": [], "budget": 1},
         {"name": "A", "purpose": "b", "code": "c", "inputSignals": ["tick"], "outputSignals": [], "energyBudget": 1}),
        ({"name": "A", "purpose": "b", "code": "c", "input_signals": ["tick"], "energy_budget": 1},
         {"name": "A", "purpose": "b", "code": "c", "inputSignals": ["tick"], "energyBudget": 1}),
    ],
)  # fmt: skip
def test_what_weak_models_send_to_core_consolidate_is_understood(sent, meant):
    assert arguments_for("core.consolidate", sent) == meant


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ("emit('a', 1)", "are not JSON"),
        ({}, 'needs "name": a short name'),
        ({**LEARN, "inputSignals": {"tick": True}}, '"inputSignals" is a list of names'),
        ({**LEARN, "hosts": [1]}, '"hosts" is a list of names'),
        ({**LEARN, "energyBudget": True}, '"energyBudget" is a number'),
    ],
)  # fmt: skip
def test_what_core_consolidate_cannot_understand_is_said(sent, says):
    assert says in refused("core.consolidate", sent)


@pytest.mark.parametrize("name", ["core.say", "core.remember"])
def test_say_and_remember_take_one_text_in_many_ways(name):
    for sent in ({"text": "hi"}, {"message": "hi"}, {"Content": "hi"}, "hi", '"hi"', '{"text": "hi"}'):
        assert arguments_for(name, sent) == {"text": "hi"}
    assert f'{name} needs "text"' in refused(name, {})


@pytest.mark.parametrize("sent", [None, {}, "", "{}", "null", {"verbose": True}])
def test_core_energy_takes_no_arguments_and_ignores_any(sent):
    assert arguments_for("core.energy", sent) == {}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just(object()),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.integers(), inner, max_size=4),
    max_leaves=10,
)
KEYS = st.sampled_from(["code", "CODE", "purpose", "timeout", "timeoutMs", "timeout_ms", "tier", "text", "script", "x"])


TYPES: dict[str, Any] = {
    "timeout": (int, float),
    "energyBudget": (int, float),
    **dict.fromkeys(("tools", "hosts", "inputSignals", "outputSignals"), list),
}


def read(name: str, raw: Any) -> dict[str, Any] | None:
    """The arguments, or None for the one kind of error that there may be."""
    try:
        return arguments_for(name, raw)
    except ToolError as error:
        if error.code != "invalid_arguments":
            raise
        return None


# A plan is checked as a whole, where it is kept.
@given(
    name=st.sampled_from([name for name in CORE_TOOLS if name != PLAN]), raw=ANYTHING | st.dictionaries(KEYS, ANYTHING)
)
def test_whatever_is_sent_there_are_arguments_of_the_right_types_or_one_kind_of_error(name, raw):
    for key, value in (read(name, raw) or {}).items():
        assert isinstance(value, TYPES.get(key, str))


@given(
    raw=st.text()
    | st.builds(lambda text: "{" + text, st.text())
    | st.builds(lambda text: '{"code": ' + text, st.text())
)
def test_whatever_text_is_sent_there_is_code_or_one_kind_of_error(raw):
    arguments = read("core.execute", raw)
    assert arguments is None or isinstance(arguments["code"], str)


def test_execute_code_takes_other_spellings_of_its_own_names():
    assert code_arguments({"Code": "return 1", "sandboxConfig": {"timeout_ms": 5}}, Settings())["timeout"] == 5
