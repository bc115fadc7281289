"""The policy of a tool: allow it, ask the owner before each call, or deny it. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol, get_args

from cortex.settings import Policy

from .names import wire_name

if TYPE_CHECKING:
    from cortex.settings import ToolSettings

LEARNED = "learned."
"""Learned functions have names that begin so. Which there are changes while a program runs."""
ALL_LEARNED = "learned.*"
_STRICTNESS: tuple[Policy, ...] = get_args(Policy)


class Governed(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def policy(self) -> Policy: ...


def policy_of(tool: Governed, settings: ToolSettings) -> Policy:
    """The policy in force: settings override what the tool was registered with. They may use either kind of name in any
    case, because an environment variable can hold neither a dot nor a case; if several match, the strictest holds.

    A server chooses the names of its tools, and could pick one that differs from another tool's only in the dot. So a
    name that is not exact can forbid a server's tool, but never allow it.
    """
    meant = {name: policy for name, policy in settings.policies.items() if _folded(name) == _folded(tool.name)}
    if getattr(tool, "server", None) is None:
        return _strictest(meant.values()) or tool.policy
    exact = [policy for name, policy in meant.items() if name.casefold() == tool.name.casefold()]
    return _strictest([_strictest(exact) or tool.policy, *meant.values()]) or tool.policy


def policy_hash(tool: Governed, settings: ToolSettings) -> str:
    """The hash of what decides about this tool: the policies that name it, and what its author says that it is."""
    named = sorted((name, policy) for name, policy in settings.policies.items() if _folded(name) == _folded(tool.name))
    declared = getattr(tool, "declaration", None)
    about = () if declared is None else (declared.description, declared.input_schema, declared.server, declared.tool)
    facts = [tool.name, tool.policy, policy_of(tool, settings), named, about]
    return sha256(json.dumps(facts, sort_keys=True, default=repr).encode()).hexdigest()


def learned_policy(settings: ToolSettings) -> Policy:
    """The policy of all learned functions: allow, because the owner has approved each, unless the settings have one for
    "learned.*". One for a single name still beats it."""
    return settings.policies.get(ALL_LEARNED, "allow")


def shows_messages(tool: str, settings: ToolSettings) -> bool:
    """Whether the model and its code are told the message of an exception of this tool. If several names in the
    settings match, all of them have to say so."""
    meant = [detail for name, detail in settings.error_details.items() if _folded(name) == _folded(tool)]
    return {*meant} == {"message"} if meant else settings.error_detail == "message"


def policies_without_tool(names: Iterable[str], settings: ToolSettings) -> list[str]:
    """Names in the settings that match no tool: a `deny` with a typing error would protect nothing."""
    known = {_folded(name) for name in names}
    return [name for name in settings.policies if _folded(name) not in known and not name.startswith(LEARNED)]


def _strictest(policies: Iterable[Policy]) -> Policy | None:
    return max(policies, key=_STRICTNESS.index, default=None)


def _folded(name: str) -> str:
    return wire_name(name).casefold()
