"""A cortex with jobs, on a runtime that the test controls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio

from cortex import MotorCortex, Settings
from sandbox import ExecutionOutcome, ExecutionRequest

LATER = {"purpose": "a long sum", "code": "return 42", "later": True}


class Patient:
    """A runtime whose runs end when the test says so."""

    def __init__(self, *, opened: bool = False) -> None:
        self.gate = anyio.Event()
        self.requests: list[ExecutionRequest] = []
        self.at_once = self.most_at_once = 0
        self.news = anyio.Event()
        self.outcome = ExecutionOutcome(ok=True, result=42)
        if opened:
            self.gate.set()

    async def execute(self, request: ExecutionRequest, *_: object, **__: object) -> ExecutionOutcome:
        self.requests.append(request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.news.set()
        try:
            await self.gate.wait()
        finally:
            self.at_once -= 1
        return self.outcome

    async def until_running(self) -> None:
        with anyio.fail_after(60):
            await self.news.wait()


def cortex(home: Path, runtime: Any = None, **sections: Any) -> MotorCortex:
    more = {name: sections.pop(name) for name in ("wake", "now", "owner", "toolbox") if name in sections}
    given = {
        "home": home,
        "sandbox": {"pool_size": 1},
        "execute": {"later": True, "max_calls_per_turn": 1_000},
        "energy": {"recharge_per_minute": 0},
        "neurons": {"habits": {"enabled": False}},
        **sections,
    }
    return MotorCortex(Settings.model_validate(given), runtime=runtime, **more)


async def begin(turn: Any, **more: Any) -> str:
    """Start a job; returns its handle."""
    told = json.loads(await turn.call("core.execute", {**LATER, **more}))
    assert told["state"] == "waiting"
    return told["job"]


async def look(place: MotorCortex, handle: str, conversation: str | None = None, **more: Any) -> str:
    async with place.turn(conversation=conversation) as turn:
        return await turn.call("core.execute", {"job": handle, **more})


async def until_ended(place: MotorCortex, handle: str, conversation: str | None = None) -> str:
    with anyio.fail_after(60):
        while (told := await look(place, handle, conversation)).startswith('{"job"'):
            await anyio.sleep(0.01)
    return told
