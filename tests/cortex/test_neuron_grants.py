"""What a neuron is lent: never more than its owner approved, and never more than the settings allow today."""

from __future__ import annotations

import pytest

from cortex import Toolbox
from cortex.neuron_grants import network_for, tools_for, unreachable
from cortex.sections import ToolSettings
from neurons import Proposal
from sandbox import HostRule, NetworkPolicy, ToolError
from tests.neurons.governance import Governed


def policy(*allow: object) -> NetworkPolicy:
    return NetworkPolicy.model_validate({"allow": list(allow)})


def reached(hosts: list[str], allowed: NetworkPolicy) -> list[tuple[str, tuple[int, ...] | None, bool]]:
    return [(rule.host, rule.ports, rule.http) for rule in network_for(hosts, allowed).allow]


@pytest.mark.parametrize(
    ("hosts", "allow", "expected"),
    [
        (["api.example.com"], ["api.example.com"], [("api.example.com", (443,), False)]),
        (["api.example.com"], ["*.example.com"], [("api.example.com", (443,), False)]),
        (["*.example.com"], ["api.example.com"], [("api.example.com", (443,), False)]),
        (["*.a.example.com"], ["*.example.com"], [("*.a.example.com", (443,), False)]),
        (["example.com"], ["*.example.com"], []),
        (["api.example.com"], ["notapi.example.com"], []),
        (["api.example.com"], ["xexample.com", "*.xexample.com"], []),
        (["api.example.com"], [{"host": "api.example.com", "ports": [8443]}], []),
        (["http://127.0.0.1:8080"], ["http://127.0.0.1:8080"], [("127.0.0.1", (8080,), True)]),
        (["http://127.0.0.1:8080"], ["http://127.0.0.1:8081"], []),
        (["api.example.com"], [], []),
        ([], ["api.example.com"], []),
    ],
)
def test_a_neuron_reaches_what_was_approved_and_is_still_allowed(hosts, allow, expected):
    assert reached(hosts, policy(*allow)) == expected


def test_what_the_owner_says_of_a_host_holds_for_neurons_too():
    rule = HostRule(host="api.example.com", methods=("GET",), paths=("/v1",), headers={"X-Key": "${secret:KEY}"})
    found = network_for(["api.example.com"], NetworkPolicy(allow=(rule,), max_requests=3))
    assert found.allow[0] == rule.model_copy(update={"ports": (443,)})
    assert found.max_requests == 3


def toolbox() -> Toolbox:
    box = Toolbox()
    for name in ("shop.stock", "shop.buy", "shop.refund"):
        box.add(lambda: 1, name=name)
    box.add(lambda: 1, name="shop.report", for_code=False)
    return box


async def test_a_neuron_has_its_approved_tools_and_no_other():
    neuron = Governed().in_trial(tools=("shop.stock", "shop.buy"))
    calls: list[tuple[object, ...]] = []
    settings = ToolSettings(policies={"shop.buy": "ask"})
    lent = tools_for(neuron, toolbox(), settings, require=lambda: None, on_call=lambda *call: calls.append(call))
    assert lent is not None
    assert [declaration.name for declaration in lent.declarations()] == ["shop.stock", "shop.buy"]
    assert (await lent.call("shop.stock", {})).data == b"1"
    with pytest.raises(ToolError, match="nobody can be asked"):
        await lent.call("shop.buy", {})
    with pytest.raises(ToolError, match="No tool"):
        await lent.call("shop.refund", {})
    assert [(call[1], call[3]) for call in calls] == [("shop.stock", True), ("shop.buy", False)]


async def test_while_nothing_may_be_done_a_neuron_calls_no_tool():
    def killed() -> None:
        raise ToolError("Kill switch is on", code="denied")

    neuron = Governed().in_trial(tools=("shop.stock",))
    lent = tools_for(neuron, toolbox(), ToolSettings(), require=killed, on_call=lambda *_: None)
    assert lent is not None
    with pytest.raises(ToolError, match="Kill switch is on"):
        await lent.call("shop.stock", {})


def test_a_neuron_without_tools_is_lent_none():
    neuron = Governed().in_trial()
    assert tools_for(neuron, toolbox(), ToolSettings(), require=lambda: None, on_call=lambda *_: None) is None


@pytest.mark.parametrize(
    ("wish", "problem"),
    [
        ({"hosts": ["api.example.com"], "tier": "network"}, None),
        ({"hosts": ["api.example.net"], "tier": "network"}, '"api.example.net" is not in the allowlist'),
        ({"tools": ["shop.stock"]}, None),
        ({"tools": ["shop.steal"]}, 'there is no tool "shop.steal"'),
        ({"tools": ["shop.report"]}, 'there is no tool "shop.report" for neurons'),
    ],
)
def test_what_no_neuron_could_have_here_is_told_before_anything_is_tried(wish, problem):
    proposal = Proposal.of(
        {"name": "Watcher", "purpose": "watch", "code": "1", "inputSignals": ["tick"], "energyBudget": 0.1, **wish}
    )
    found = unreachable(proposal, toolbox(), policy("api.example.com"))
    assert found is None if problem is None else problem in (found or "")
