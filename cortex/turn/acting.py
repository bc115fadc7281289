"""Check whether a turn, its code or a neuron may act at all: kill switch off and audit log writable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cortex.audit import AuditError
from sandbox import ToolError

if TYPE_CHECKING:
    from cortex.audit import Journal
    from neurons import KillSwitch


def require_acting(switch: KillSwitch, journal: Journal) -> None:
    """Raise ToolError while the kill switch is on or the audit log cannot be written. This also stops the tool calls of
    code that is already running."""
    killed = switch.refusal()
    if killed is not None:
        raise ToolError(killed, code="denied")
    try:
        journal.require()
    except AuditError as error:
        raise ToolError(str(error), code="denied") from error
