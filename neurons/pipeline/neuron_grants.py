"""The network that a running neuron gets: what its owner approved, as far as the settings allow it today.

A module of its own because limits on proposals, quarantine and the cortex share these rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sandbox import HostRule, NetworkPolicy

_HTTPS, _HTTP = 443, 80


def network_for(hosts: Sequence[str], allowed: NetworkPolicy) -> NetworkPolicy:
    """The network of the settings, limited to these hosts. A host removed from the settings is removed from every
    neuron; one denied there stays denied."""
    wanted = [HostRule.model_validate(host) for host in hosts]
    return allowed.model_copy(update={"allow": tuple(_common(allowed.allow, wanted))})


def _common(rules: Sequence[HostRule], wanted: Sequence[HostRule]) -> Iterator[HostRule]:
    for rule in rules:
        for want in wanted:
            host, http = _common_host(rule.host, want.host), rule.http and want.http
            ports = tuple(port for port in _ports(want) if port in _ports(rule))
            if host is not None and ports:
                yield rule.model_copy(update={"host": host, "ports": ports, "http": http})


def _ports(rule: HostRule) -> tuple[int, ...]:
    return rule.ports or ((_HTTPS, _HTTP) if rule.http else (_HTTPS,))


def _common_host(one: str, other: str) -> str | None:
    """The names that both patterns match: for `*.example.com` and `api.example.com`, the latter."""
    if covers(other, one):
        return one
    return other if covers(one, other) else None


def covers(pattern: str, host: str) -> bool:
    """Whether the pattern matches the host, or all that `host` matches when it is a pattern itself."""
    return host == pattern or (pattern.startswith("*.") and host.removeprefix("*.").endswith(pattern[1:]))


def unreachable_host(hosts: Sequence[str], allowed: NetworkPolicy) -> str | None:
    """The first host that no neuron can reach here, in words for the agent; None when all can be reached."""
    for host in hosts:
        if not network_for([host], allowed).allow:
            known = ", ".join(dict.fromkeys(rule.host for rule in allowed.allow)) or "none"
            return f'hosts: "{host}" is not in the allowlist of this agent; allowed: {known[:500]}'
    return None
