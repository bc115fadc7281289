"""What a neuron is lent when it runs: of what its owner approved only what the settings allow today. Pure, but for the
calls themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from sandbox import HostRule, NetworkPolicy

from .owner import AbsentOwner
from .tools import Calls, Consent, LentTools

if TYPE_CHECKING:
    from neurons import Neuron, Proposal
    from sandbox import HostTools

    from .sections import ToolSettings
    from .tools import Toolbox
    from .tools.calls import OnCall

_HTTPS, _HTTP = 443, 80


def network_for(hosts: Sequence[str], allowed: NetworkPolicy) -> NetworkPolicy:
    """The owner's own network, as far as it is among these hosts. What is taken from the settings is taken from every
    neuron, too; what is denied there stays denied."""
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
    """The names that both stand for: `*.example.com` and `api.example.com` have the latter in common."""
    if one == other or _is_below(one, other):
        return one
    return other if _is_below(other, one) else None


def _is_below(host: str, pattern: str) -> bool:
    return pattern.startswith("*.") and host.removeprefix("*.").endswith(pattern[1:])


def tools_for(
    neuron: Neuron,
    toolbox: Toolbox,
    settings: ToolSettings,
    *,
    require: Callable[[], None],
    on_call: OnCall,
) -> HostTools | None:
    """The approved tools. One that the owner wants to be asked about each time is refused: neurons act while nobody is
    there, and an approval once is not a consent each time."""
    lent = [tool for tool in toolbox if tool.name in neuron.tools]
    if not lent:
        return None
    consent = Consent(AbsentOwner(), settings, turn=f"neuron:{neuron.id}")
    return LentTools(lent, Calls(consent, require=require, on_call=on_call), purpose=neuron.metadata.purpose)


def unreachable(wish: Neuron | Proposal, toolbox: Toolbox, allowed: NetworkPolicy) -> str | None:
    """What it asks for that no neuron can have here, in words for its author; None when it is all there."""
    for host in wish.hosts:
        if not network_for([host], allowed).allow:
            known = ", ".join(dict.fromkeys(rule.host for rule in allowed.allow)) or "none"
            return f'hosts: "{host}" is not in the allowlist of this agent; allowed: {known[:500]}'
    names = {tool.name for tool in toolbox if tool.for_code}
    for tool in wish.tools:
        if tool not in names:
            known = ", ".join(sorted(names))[:500] or "none"
            return f'tools: there is no tool "{tool}" for neurons, which have none of MCP servers; there are: {known}'
    return None
