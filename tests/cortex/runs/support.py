"""Runs to write and to read: details with plain values, and a cortex that keeps its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cortex import MotorCortex, Settings
from cortex.runs import RunDetails, RunReader
from cortex.runs.details import body_of, sealed
from sandbox.testing import ScriptedRuntime

DAY_S = 86_400.0
NOON = 1_800_000_000.0


def details(number: int = 1, **more: Any) -> RunDetails:
    facts = {
        "id": f"{number:016x}-1",
        "turn": f"{number:016x}",
        "call": 1,
        "at": NOON + number,
        "ended_at": NOON + number + 0.5,
        "keep": "texts",
        "outcome": "ok",
        "reply_code": "OK",
        "purpose": f"run {number}",
        "tier": "isolated",
        "code_hash": f"{number:064x}",
        "reply": f"reply {number}",
    }
    return RunDetails(**{**facts, **more})


def line_of(one: RunDetails, audit: int | None = None) -> bytes:
    body, digest = body_of(one)
    return sealed(body, digest, audit)


def keeping_cortex(home: Path, outcomes: Any = None, runtime: Any = None, **sections: Any) -> MotorCortex:
    """A cortex with a home; without a runtime and outcomes it runs Deno."""
    sections.setdefault("energy", {"recharge_per_minute": 1_000_000})
    sections.setdefault("cache", {"enabled": False})
    settings = Settings(home=home, neurons={"owner": {"console": False}}, **sections)
    given = runtime if outcomes is None else ScriptedRuntime(outcomes)
    return MotorCortex(settings, runtime=given, toolbox=sections.get("toolbox"))


def reader_of(home: Path) -> RunReader:
    return RunReader(home / "runs")


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
