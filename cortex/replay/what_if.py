"""What a replay changes about a run: functions that fail, another level of energy, other policies. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from cortex.contracts import denied
from cortex.energy import Insufficient, weigh
from cortex.tools import CoreTool, policy_of

if TYPE_CHECKING:
    from cortex.settings import EnergySettings, Policy, ToolSettings
    from sandbox import Tier

CORE = "core.execute"


@dataclass(frozen=True, slots=True)
class WhatIf:
    """All that is changed. Without arguments: nothing."""

    failing: frozenset[str] = frozenset()
    """Names of functions that fail."""
    level: float | None = None
    """The energy at which the gate decides."""
    policies: ToolSettings | None = None
    """The policies that decide about each call."""

    def __bool__(self) -> bool:
        return bool(self.failing) or self.level is not None or self.policies is not None


AS_IT_WAS = WhatIf()


@dataclass(frozen=True, slots=True)
class Judged:
    """What other policies say about a call."""

    name: str
    policy: Literal["ask", "deny"]


@dataclass(frozen=True, slots=True)
class _Recorded:
    """A function as the policies see it. What it was registered with is not on record: here it is what was done."""

    name: str
    policy: Policy
    server: str | None = None


def refused_by(what_if: WhatIf, tier: Tier, energy: EnergySettings) -> tuple[str | None, Judged | None]:
    """The reply that the model would have got in place of a run, and what the policies say about the run itself."""
    judged = None
    if what_if.policies is not None:
        policy = policy_of(CoreTool(CORE), what_if.policies)
        if policy == "deny":
            return denied(f"the owner does not allow {CORE}"), Judged(CORE, "deny")
        judged = Judged(CORE, "ask") if policy == "ask" else None
    if what_if.level is not None:
        weighed = weigh(what_if.level, tier, energy)
        if isinstance(weighed, Insufficient):
            return denied(str(weighed)), judged
    return None, judged


def policy_for(what_if: WhatIf, name: str, server: str | None, *, was_asked: bool) -> Policy:
    if what_if.policies is None:
        return "allow"
    return policy_of(_Recorded(name, "ask" if was_asked else "allow", server), what_if.policies)
