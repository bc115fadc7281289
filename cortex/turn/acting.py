"""Whether anything may be done at all, for whoever acts: a turn, its code, a neuron."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex.audit import AuditError
from sandbox import ToolError

if TYPE_CHECKING:
    from cortex.audit import Journal
    from neurons import KillSwitch


def require_acting(switch: KillSwitch, journal: Journal) -> None:
    """Raises ToolError while the kill switch is on, or nothing can be written down: code that is running acts no more,
    either."""
    killed = switch.refusal()
    if killed is not None:
        raise ToolError(killed, code="denied")
    try:
        journal.require()
    except AuditError as error:
        raise ToolError(str(error), code="denied") from error
