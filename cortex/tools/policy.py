"""What may be done with a tool: allow it, ask the owner before each call, or deny it. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, get_args

from cortex.settings import Policy

from .names import wire_name

if TYPE_CHECKING:
    from cortex.settings import ToolSettings

_STRICTNESS: tuple[Policy, ...] = get_args(Policy)


class Governed(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def policy(self) -> Policy: ...


def policy_of(tool: Governed, settings: ToolSettings) -> Policy:
    """The settings beat what the tool was registered with. They may name it either way and in any case, because an
    environment variable can write neither a dot nor a case; where several of them mean it, the strictest holds.

    A server chooses the names of its tools, and could take one that is another's but for the dot. So a name that is
    not exactly that of its tool can forbid there, and never allow."""
    meant = {name: policy for name, policy in settings.policies.items() if _folded(name) == _folded(tool.name)}
    if getattr(tool, "server", None) is None:
        return _strictest(meant.values()) or tool.policy
    exact = [policy for name, policy in meant.items() if name.casefold() == tool.name.casefold()]
    return _strictest([_strictest(exact) or tool.policy, *meant.values()]) or tool.policy


def policies_for_nobody(names: Iterable[str], settings: ToolSettings) -> list[str]:
    """The names in the settings that no tool has: a `deny` with a typing error would protect nothing."""
    known = {_folded(name) for name in names}
    return [name for name in settings.policies if _folded(name) not in known]


def _strictest(policies: Iterable[Policy]) -> Policy | None:
    return max(policies, key=_STRICTNESS.index, default=None)


def _folded(name: str) -> str:
    return wire_name(name).casefold()
