"""What a new version of a neuron changes against the version that the owner approved last: rights and code. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex.text import CODE, line_diff, local_time, visible_code
from neurons import code_hash, policy_hash

from .agent_text import labelled, one_name

if TYPE_CHECKING:
    from neurons import Approval, Around, Neuron, Policy, Version

MAX_LINES = 400
"""Lines of the difference that are shown: all of the code is below it."""


@dataclass(frozen=True, slots=True)
class OwnerChange:
    """What is new since the version that the owner approved last."""

    version: int
    approved_at: float
    rights: tuple[str, ...]
    code: tuple[str, ...]
    """The lines that differ, with "-" or "+" before them, everything deceptive spelled out."""


def change_of(neuron: Neuron, around: Around) -> OwnerChange | None:
    """None for what was never approved, and for what is exactly the approved version."""
    found = last_approved(neuron, around)
    if found is None:
        return None
    version, approval = found
    rights = tuple(_rights(version.policy, neuron.policy))
    code = tuple(line_diff(visible_code(version.code).split("\n"), visible_code(neuron.code).split("\n")))
    return OwnerChange(version.version, approval.at, rights, code) if rights or code else None


def change_lines(neuron: Neuron, around: Around) -> Iterator[str]:
    """The change as lines; none without one."""
    change = change_of(neuron, around)
    if change is None:
        return
    what = " and ".join(filter(None, ("its rights" if change.rights else "", "its code" if change.code else "")))
    yield labelled("changed", f"{what}, since version {change.version}, approved {local_time(change.approved_at)}")
    yield from (f"  - {line}" for line in change.rights)
    yield from (f"{CODE}{line}" for line in change.code[:MAX_LINES])
    if len(change.code) > MAX_LINES:
        yield f"  … and {len(change.code) - MAX_LINES} more lines of the difference"
    if not change.rights:
        yield labelled("", "its rights are as before")


def last_approved(neuron: Neuron, around: Around) -> tuple[Version, Approval] | None:
    """The version that the newest approval signed by this home is about."""
    for approval in reversed(neuron.approvals):
        for version in reversed(neuron.versions):
            # Computed: the hashes that are written in a document may be of other code.
            hashes = code_hash(version.code), policy_hash(version.policy)
            if hashes == (approval.code_hash, approval.policy_hash) and around.is_signed(neuron.id, approval):
                return version, approval
    return None


def _rights(before: Policy, after: Policy) -> Iterator[str]:
    old, new = (policy.model_dump(mode="json", by_alias=True) for policy in (before, after))
    for name in new:
        if _sorted(old[name]) != _sorted(new[name]):
            yield f"{name}: {_text(old[name])} became {_text(new[name])}"


def _sorted(value: Any) -> Any:
    return sorted(value, key=json.dumps) if isinstance(value, list) else value


def _text(value: Any) -> str:
    return one_name(json.dumps(value, ensure_ascii=False)) if value not in (None, [], "") else "none"
