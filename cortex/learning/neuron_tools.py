"""The tools that a neuron may call: those of the toolbox and of MCP servers that its owner approved. For any other tool
it explains why it is not available."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from cortex.tools import AbsentOwner, Calls, Consent, LentTools, policy_of
from sandbox import place_of_tools

if TYPE_CHECKING:
    from cortex.mcp_client import McpServers
    from cortex.settings import ToolSettings
    from cortex.tools import OnCall, Toolbox, UsableTool
    from neurons import Neuron
    from sandbox import HostTools

_MOST_NAMED = 500


class NeuronTools:
    def __init__(self, toolbox: Toolbox, servers: McpServers | None, settings: ToolSettings) -> None:
        self._toolbox = toolbox
        self._servers = servers
        self._settings = settings

    def spelled_out(self, names: Iterable[str]) -> tuple[str, ...]:
        """The tools' own names, for names in any spelling that code may use. Unknown names stay unchanged."""
        known = self._known()
        places = place_of_tools([tool.declaration for tool in known.values()])
        meant = {".".join(path): name for name, paths in places.items() for path in paths}
        return tuple(dict.fromkeys(name if name in known else meant.get(name, name) for name in names))

    def missing(self, names: Sequence[str]) -> str | None:
        """Why one of these tools is not available to neurons, in words for the agent; None when all are. A tool of a
        server that is not started yet counts as available: that is checked when the server has started."""
        known = self._known()
        for name in names:
            tool = known.get(name)
            if tool is None and not self._may_be_of_server(name):
                return f'tools: there is no tool "{name}" for neurons; there are: {_told(known)}'
            policy = "allow" if tool is None else policy_of(tool, self._settings)
            if policy != "allow":
                return (
                    f'tools: the policy of "{name}" is "{policy}", and the owner cannot be asked while a neuron works'
                )
        return None

    def awaited(self, names: Sequence[str]) -> str | None:
        """Why a server of these tools is not ready yet; None when all are. Starts it, and does not wait for it."""
        if self._servers is not None:
            for server in dict.fromkeys(filter(None, map(self._server_of, names))):
                reason = self._servers.wanted(server)
                if reason is not None:
                    return reason
        return None

    def lent(self, neuron: Neuron, *, require: Callable[[], None], on_call: OnCall) -> HostTools | None:
        """The neuron's approved tools. Calls of a tool with the policy `ask` are refused: neurons act while the owner
        is away, and one approval is not a consent each time."""
        known = self._known() if neuron.tools else {}
        lent = [known[name] for name in neuron.tools if name in known]
        if not lent:
            return None
        consent = Consent(AbsentOwner(), self._settings, turn=f"neuron:{neuron.id}")
        return LentTools(lent, Calls(consent, require=require, on_call=on_call), purpose=neuron.metadata.purpose)

    def _known(self) -> dict[str, UsableTool]:
        """All known tools by name. A tool of the toolbox wins over a server's tool of the same name."""
        known: dict[str, UsableTool] = {tool.name: tool for tool in self._toolbox if tool.for_code}
        for tool in self._servers.known() if self._servers is not None else ():
            known.setdefault(tool.name, tool)
        return known

    def _server_of(self, name: str) -> str | None:
        server = name.partition(".")[0]
        own = self._toolbox.get(name)
        is_served = self._servers is not None and server in self._servers.names
        return server if is_served and (own is None or not own.for_code) else None

    def _may_be_of_server(self, name: str) -> bool:
        server = self._server_of(name)
        return server is not None and self._servers is not None and not self._servers.knows(server)


def _told(known: Iterable[str]) -> str:
    return ", ".join(sorted(known))[:_MOST_NAMED] or "none"
