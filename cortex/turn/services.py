"""The parts of one cortex that all its turns share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import anyio

    from cortex.audit import Spine
    from cortex.catalogue import Workbench
    from cortex.energy import Ledger
    from cortex.home import Memory
    from cortex.redaction import Redactor
    from cortex.settings import Settings
    from cortex.tools import Owner, Toolbox
    from neurons import Switch
    from sandbox import CodeRuntime, Guard

    from .consolidate_tool import ConsolidateTool
    from .habit_watch import Observer


@dataclass(frozen=True, slots=True)
class Services:
    settings: Settings
    toolbox: Toolbox
    runtime: CodeRuntime
    guard: Guard | None
    energy: Ledger
    spine: Spine
    memory: Memory
    owner: Owner
    asking: anyio.Lock
    """Only one question at a time in all turns: there is one owner."""
    switch: Switch
    workbench: Workbench
    redactor: Redactor
    """For turns that have no redactor of their own."""
    consolidate: ConsolidateTool | None = None
    """None where the agent cannot learn."""
    observer: Observer | None = None
    """Notices habits in the runs; None where that is disabled."""
