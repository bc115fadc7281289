"""A habit in real cortices: told once, once a day in one process or in many, by every way into a turn."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from mcp import Client

from cortex import MotorCortex
from cortex.mcp_server import mcp_server

from .daily import DAY_S, START, settings_of, told

pytestmark = pytest.mark.deno
DAYS = 8
ROOT = Path(__file__).parent.parent.parent.parent
# Only what hangs takes so long, on a slow machine too.
BOUND_S = 120


class Process:
    """One call of one day, in a process of its own."""

    def __init__(self, home: Path, day: int, way: str = "call", *, calls: int = 1) -> None:
        arguments = [sys.executable, "-m", "tests.cortex.learning.daily", str(home), str(day), way, str(calls)]
        self._process = subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE)

    def wait(self) -> list[str]:
        out, _ = self._process.communicate(timeout=BOUND_S)
        assert self._process.returncode == 0
        return list(json.loads(out))


class Days:
    """A cortex whose day is the test's."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.day = 0

    def cortex(self) -> MotorCortex:
        return MotorCortex(settings_of(self.home), now=lambda: START + self.day * DAY_S)

    async def seen(self, cortex: MotorCortex, times: int) -> None:
        """Wait until the script was noticed this often, in the background."""
        documents = cortex.learning.storage
        with anyio.fail_after(BOUND_S):
            while sum(one.data["count"] for one in documents.read_all("habits/")) < times:
                await anyio.sleep(0.02)

    async def due(self, cortex: MotorCortex) -> None:
        """Wait until the next answer can tell it."""
        assert cortex._living is not None
        with anyio.fail_after(BOUND_S):
            while not any(looked.due for _, looked in cortex._living.notes._sources):
                await anyio.sleep(0.02)

    async def until_due(self, cortex: MotorCortex) -> None:
        for number in range(3):
            await told(cortex, "answer", self.day + number)
            await self.seen(cortex, number + 1)
        await self.due(cortex)


async def test_a_script_that_runs_once_a_day_in_one_process_is_told_once(tmp_path, nothing_left):
    days, notes = Days(tmp_path), []
    async with days.cortex() as cortex:
        for day in range(DAYS):
            days.day = day
            notes.append(await told(cortex, "call", day))
            await days.seen(cortex, day + 1)
            if day == 2:
                await days.due(cortex)
    assert [note is not None for note in notes] == [False] * 3 + [True] + [False] * 4
    assert "much the same script" in notes[3]


def test_a_script_that_runs_once_a_day_in_a_process_of_its_own_is_told_once(tmp_path):
    notes = [note for day in range(DAYS) for note in Process(tmp_path, day).wait()]
    assert len(notes) == 1


def test_of_two_processes_that_answer_at_once_one_tells_the_habit(tmp_path):
    for day in range(3):
        assert Process(tmp_path, day).wait() == []
    processes = [Process(tmp_path, 3, "answer", calls=4) for _ in range(2)]
    assert sum(len(process.wait()) for process in processes) == 1


@pytest.mark.parametrize("way", ["call", "answer", "code", "other tool"])
async def test_every_way_into_a_turn_tells_a_habit(way, tmp_path, nothing_left):
    days = Days(tmp_path)
    async with days.cortex() as cortex:
        await days.until_due(cortex)
        days.day += 30  # nobody has asked for long
        notes = [await told(cortex, way, 3) for _ in range(3)]
    assert [note is not None for note in notes] == [True, False, False]


@pytest.mark.parametrize("tool", ["core_energy", "core_execute", "execute_code"])
async def test_a_client_gets_a_note_as_a_text_of_its_own(tool, tmp_path, nothing_left):
    days = Days(tmp_path)
    async with days.cortex() as cortex, Client(mcp_server(cortex, cortex.settings)) as client:
        await client.list_tools()  # so that the client checks the result by the schema
        await days.until_due(cortex)
        given = {} if tool == "core_energy" else {"code": "return 7"}
        more = {"purpose": "x"} if tool == "core_execute" else {}
        results = [await client.call_tool(tool, {**given, **more}) for _ in range(2)]
    reply, note = [item.text for item in results[0].content]
    assert "much the same script" in note
    assert results[0].structured_content["note"] == note
    assert "Note:" not in reply
    assert len(results[1].content) == 1
    assert "note" not in results[1].structured_content


async def test_an_answer_without_a_note_touches_no_habit_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("cortex.turn.notes.LOOK_S", 600)
    days = Days(tmp_path)
    async with days.cortex() as cortex:
        await told(cortex, "other tool", 0)  # the first look is over
        storage, touched = cortex.learning.storage, []

        def watched(name: str):
            before = getattr(storage, name)

            def call(key: str, *arguments, **more):
                if key.startswith("habits"):
                    touched.append((name, key))
                return before(key, *arguments, **more)

            return call

        for name in ("read", "read_all", "update", "stamp"):
            monkeypatch.setattr(storage, name, watched(name))
        async with cortex.turn() as turn:
            for _ in range(20):
                assert (await turn.answer("core.energy")).note is None
        assert touched == []
