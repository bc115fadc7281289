"""Why nothing was run: refusals as values. `replies` makes the strings of them that a model reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from sandbox import Finding


@dataclass(frozen=True, slots=True)
class Denied:
    """Energy, the kill switch, the owner, a limit of the turn, or a sandbox without a free place."""

    reason: str


@dataclass(frozen=True, slots=True)
class Blocked:
    """The guard found a pattern in the code."""

    finding: Finding


Refusal: TypeAlias = Denied | Blocked
