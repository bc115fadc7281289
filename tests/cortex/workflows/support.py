"""A cortex with workflows, and what its tests need of plans and tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from cortex import MotorCortex, Settings, Toolbox
from cortex.workflows import DecisionRow, Plan, RunRow, Workflows, checked

LIMIT_S = 60


def cortex(home: Path, *, toolbox: Toolbox | None = None, **sections: Any) -> MotorCortex:
    more = {name: sections.pop(name) for name in ("now", "owner", "runtime", "wake", "workspace") if name in sections}
    given = {
        "home": home,
        "sandbox": {"pool_size": 1, "max_concurrent": 4},
        "energy": {"recharge_per_minute": 0, "cost_isolated": 0.001, "floor_isolated": 0},
        "neurons": {"habits": {"enabled": False}},
        "cache": {"enabled": False},
        **sections,
    }
    return MotorCortex(Settings.model_validate(given), toolbox=toolbox, **more)


def plan(*tasks: dict[str, Any], name: str = "a plan") -> Plan:
    return checked({"name": name, "tasks": list(tasks)})


def code(id_: str, text: str, *needs: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "type": "code_execution", "code": text, "dependencies": list(needs), **more}


def tool(id_: str, name: str, *needs: str, arguments: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    given = {"id": id_, "type": "mcp_tool", "tool": name, "arguments": arguments or {}, "dependencies": list(needs)}
    return {**given, **more}


def decision(id_: str, *needs: str, **more: Any) -> dict[str, Any]:
    return {"id": id_, "type": "decision", "ask": f"Is {id_} right?", "dependencies": list(needs), **more}


async def until(flows: Workflows, run: str, *statuses: str) -> RunRow:
    """Wait until the run has one of these states."""
    with anyio.fail_after(LIMIT_S):
        while True:
            row = flows.show(run).run
            if row.status in statuses:
                return row
            await anyio.sleep(0.02)


async def asked(flows: Workflows, run: str, task: str) -> DecisionRow:
    """The question about a task, as soon as the run waits for its answer."""
    await until(flows, run, "waiting")
    return flows.show(run).decisions[task]


async def kinds(flows: Workflows, run: str) -> Sequence[str]:
    with anyio.fail_after(LIMIT_S):
        return [event.kind async for event in flows.events(run)]
