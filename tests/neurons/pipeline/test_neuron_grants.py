"""What a neuron is lent: never more than its owner approved, and never more than the settings allow today."""

from __future__ import annotations

import pytest

from neurons.pipeline.neuron_grants import network_for, unreachable_host
from sandbox import HostRule, NetworkPolicy


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


@pytest.mark.parametrize(
    ("hosts", "problem"),
    [
        ([], None),
        (["api.example.com"], None),
        (["api.example.com", "api.example.net"], '"api.example.net" is not in the allowlist'),
    ],
)
def test_a_host_outside_the_allowlist_is_named_as_unreachable(hosts, problem):
    found = unreachable_host(hosts, policy("api.example.com"))
    assert found is None if problem is None else problem in (found or "")
