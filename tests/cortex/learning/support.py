"""A turn that can learn, put together by hand: a real home, energy and audit, and a pipeline whose clock stands still."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from cortex.audit import Audit
from cortex.audit.journal import AuditJournal
from cortex.audit.spine import Spine
from cortex.catalogue.workbench import Workbench
from cortex.discovery import Discovery
from cortex.energy import EnergyReserve
from cortex.home import Home, HomeFiles, Memory
from cortex.redaction import Redactor
from cortex.settings.sections import EnergySettings
from cortex.settings.settings import Settings
from cortex.tools import Toolbox
from cortex.tools.owner import AbsentOwner, Owner
from cortex.turn.consolidate_tool import ConsolidateTool
from cortex.turn.execution import Services
from cortex.turn.turn import Turn
from neurons import KillSwitch
from sandbox import CodeRuntime
from sandbox.testing import ScriptedRuntime

MAX_CODE_BYTES = 51_200
PROPOSAL = {
    "name": "CryptoPrice",
    "purpose": "Tell when the price moves",
    "code": "emit('price_change', { price: 1 })",
    "inputSignals": ["tick"],
    "outputSignals": ["price_change"],
    "energyBudget": 0.02,
}


class Cortex:
    """What a `MotorCortex` puts together, with the parts of learning as the test wants them."""

    def __init__(self, parts: Services, audit: Audit) -> None:
        self.parts = parts
        self.audit = audit
        self.events: list[Any] = []

    def turn(self) -> Turn:
        return Turn(self.parts, self.events.append)

    def recorded(self, kind: str) -> list[dict[str, Any]]:
        return [dict(record.facts) for record in self.audit.records() if record.kind == kind]


@asynccontextmanager
async def learning_cortex(
    home: Path,
    *,
    runtime: CodeRuntime | None = None,
    pipeline: Any = None,
    owner: Owner | None = None,
    toolbox: Toolbox | None = None,
    observer: Any = None,
    notes: Any = None,
    consolidate: dict[str, Any] | None = None,
    **sections: Any,
) -> AsyncIterator[Cortex]:
    sections.setdefault("energy", EnergySettings(recharge_per_minute=0))
    settings = Settings(home=home, **sections)
    state, audit = Home(home).state, Audit(Home(home).audit, settings.audit)
    energy = EnergyReserve(state, settings.energy)
    given = consolidate or {}
    tool = pipeline and ConsolidateTool(pipeline, **{"max_code_bytes": MAX_CODE_BYTES, **given})
    toolbox = toolbox or Toolbox()
    parts = Services(
        settings,
        toolbox,
        runtime or ScriptedRuntime([]),
        None,
        energy,
        Spine(audit, AuditJournal(audit)),
        Memory(HomeFiles(Home(home))),
        owner or AbsentOwner(),
        anyio.Lock(),
        KillSwitch(state),
        Workbench(toolbox, None, settings, Discovery(settings.discovery)),
        Redactor(settings.redaction),
        consolidate=tool or None,
        observer=observer,
        notes=notes,
    )
    try:
        yield Cortex(parts, audit)
    finally:
        energy.close()
        audit.close()
        parts.memory.close()
