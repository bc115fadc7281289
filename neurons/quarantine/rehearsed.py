"""The network and tools during quarantine: recorded answers, and failures that look like real ones.

No request leaves the host and no tool is called. The code cannot tell that nothing was recorded: else it could behave
for as long as it is being tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sandbox import HostRule, NetworkPolicy, Replay, ToolDeclaration, ToolError

from ..pipeline import canonical

if TYPE_CHECKING:
    from sandbox import HostTools

    from ..contracts import Neuron, ToolExchange
    from .scenarios import Scenario

_MAX_MISSED = 20
_PORTS = {"http": 80, "https": 443}


class Missed:
    """Requests and tools that the code asked for and that were not recorded: each once, and only the first ones."""

    def __init__(self) -> None:
        self.requests: dict[str, None] = {}
        self.tools: dict[str, None] = {}

    def request(self, method: str, url: str) -> ToolError:
        """Note a request, and return the error that the code gets: worded like the broker's for a server that is not
        there."""
        _add(self.requests, named(method, url))
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port or _PORTS.get(parts.scheme, 443)
        return ToolError(f"Cannot connect to {host}: nothing answers at port {port}", code="network", retryable=True)

    def tool(self, name: str) -> ToolError:
        """Note a tool call, and return the error that the code gets: worded like the bridge's for a failed tool."""
        _add(self.tools, name)
        return ToolError(f'Tool "{name}" failed with ConnectionError', code="internal")


def named(method: str, url: str) -> str:
    """A request as a report names it: without its query, which may be of any length."""
    parts = urlsplit(url)
    return f"{method} {parts.scheme}://{parts.netloc}{parts.path}"


def network_of(neuron: Neuron, scenario: Scenario, missed: Missed, real: NetworkPolicy | None = None) -> NetworkPolicy:
    """The policy that the neuron will have, or one made of its declared hosts, answered from the recorded exchanges.

    Always a policy: None would mean the policy of the settings, where the network is real. Raises ValueError for an
    invalid declared host.
    """
    policy = real or NetworkPolicy(allow=tuple(HostRule.model_validate(host) for host in neuron.hosts))
    replay = Replay(scenario.exchanges, unanswered=missed.request)
    return policy.model_copy(update={"replay": replay, "recorder": None})


class ToolsOf:
    """The declared tools, answered from the recorded calls: a repeated call gets the next recorded answer, and the last
    one from then on."""

    def __init__(self, neuron: Neuron, scenario: Scenario, missed: Missed, real: HostTools | None = None) -> None:
        """`real` is asked only which arguments its tools take."""
        known = {} if real is None else {each.name: each for each in real.declarations()}
        self._declared = [known.get(name) or ToolDeclaration(name) for name in neuron.tools]
        self._missed = missed
        self._left: dict[tuple[str, bytes], list[ToolExchange]] = {}
        for call in scenario.tool_calls:
            self._left.setdefault((call.name, canonical(call.arguments)), []).append(call)

    def declarations(self) -> Sequence[ToolDeclaration]:
        return self._declared

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        left = self._left.get((name, _canonical(arguments)))
        if left is None:
            raise self._missed.tool(name)
        recorded = left.pop(0) if len(left) > 1 else left[0]
        if recorded.error is not None:
            raise ToolError(recorded.error)
        return recorded.result


def _canonical(arguments: dict[str, Any]) -> bytes:
    try:
        return canonical(arguments)
    except (ValueError, RecursionError):
        return b""  # matches no recorded call


def _add(names: dict[str, None], name: str) -> None:
    if len(names) < _MAX_MISSED:
        names.setdefault(name)
