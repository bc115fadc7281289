"""What every turn of one cortex shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import anyio

    from neurons import KillSwitch

    from .consolidate_tool import ConsolidateTool
    from .energy import EnergyReserve
    from .execute_tool import ExecuteTool
    from .habit_watch import Observer
    from .journal import Journal
    from .memory import Memory
    from .owner import Owner
    from .redaction import Redactor
    from .settings import Settings
    from .tools import Toolbox
    from .workbench import Workbench


@dataclass(frozen=True, slots=True)
class Parts:
    settings: Settings
    toolbox: Toolbox
    execute: ExecuteTool
    energy: EnergyReserve
    journal: Journal
    memory: Memory
    owner: Owner
    asking: anyio.Lock
    """One question at a time, of all turns: there is one owner."""
    switch: KillSwitch
    workbench: Workbench
    redactor: Redactor
    """Of turns that have none of their own."""
    consolidate: ConsolidateTool | None = None
    """None where the agent cannot learn."""
    observer: Observer | None = None
    """Whoever looks for habits in what was run."""
