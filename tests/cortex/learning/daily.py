"""A program that makes one call a day and ends: `python -m tests.cortex.learning.daily HOME DAY WAY [CALLS]`.

It prints what the model is told beside the answers, as a JSON list, and runs a script that it runs every day, with
another item.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio

from cortex import MotorCortex, Settings
from cortex.settings.sections import EnergySettings
from tests.conftest import small

DAY_S = 86_400.0
START = 1_800_000_000.0
SCRIPT = "const wanted = '{}'; const seen = ['tea', 'milk'].filter((item) => item > wanted); return seen.length;"


def settings_of(home: Path) -> Settings:
    energy = EnergySettings(cost_isolated=0, cost_network=0)
    return Settings(home=home, sandbox=small(), energy=energy)


def script(day: int) -> dict[str, Any]:
    return {"purpose": "what comes later", "code": SCRIPT.format(f"item {day}")}


async def told(cortex: MotorCortex, way: str, day: int) -> str | None:
    """Run the script of the day; return what the model is told beside the answer."""
    async with cortex.turn() as turn:
        match way:
            case "call":
                text = await turn.call("core.execute", script(day))
                first, _, note = text.partition("\n\nNote: ")
                assert json.loads(first) == 2, text
                return note or None
            case "answer":
                return (await turn.answer("core.execute", script(day))).note
            case "code":
                answer = await turn.execute_code({"code": script(day)["code"]})
                assert answer.structured.get("note") == answer.note
                return answer.note
            case _:
                return (await turn.answer("core.energy")).note


async def main(home: Path, day: int, way: str, calls: int) -> None:
    at = START + day * DAY_S
    async with MotorCortex(settings_of(home), now=lambda: at) as cortex:
        notes = [await told(cortex, way, day) for _ in range(calls)]
    print(json.dumps([note for note in notes if note is not None]))


if __name__ == "__main__":
    _, place, number, how, *more = sys.argv
    anyio.run(main, Path(place), int(number), how, int(more[0]) if more else 1)
