"""How the model hears, once, of what it did not ask for: with the next answer of any kind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from cortex.settings.sections import EnergySettings
from cortex.turn.notes import Due, Notes
from sandbox import ExecutionOutcome
from sandbox.testing import ScriptedRuntime
from tests.cortex.learning.support import learning_cortex

GOOD = ExecutionOutcome(ok=True, result={"total": 1})
RUN = {"purpose": "look", "code": "return 1"}


class Source:
    """Tells what the test says, and keeps what became of it."""

    def __init__(self, *texts: str) -> None:
        self.left = list(texts)
        self.marks = 0
        self.looks = 0
        self.claims: list[str] = []
        self.became: list[tuple[str, bool]] = []
        self.taken_elsewhere: set[str] = set()
        self.trouble: Exception | None = None

    def stamp(self) -> object:
        return self.marks

    async def look(self) -> Sequence[Due]:
        self.looks += 1
        if self.trouble is not None:
            raise self.trouble
        return [Due(text, f"about {text}") for text in self.left]

    def claim(self, key: str) -> bool:
        if self.trouble is not None:
            raise self.trouble
        self.claims.append(key)
        if key in self.taken_elsewhere or key not in self.left:
            return False
        self.left.remove(key)
        return True

    def told(self, key: str) -> None:
        self.became.append((key, True))

    def given_back(self, key: str) -> None:
        self.left.append(key)
        self.became.append((key, False))


@asynccontextmanager
async def noting(home, source: Source, outcomes: Sequence[ExecutionOutcome] = (), **sections) -> AsyncIterator[Any]:
    notes = Notes([source])
    runtime = ScriptedRuntime(outcomes)
    async with (
        anyio.create_task_group() as tasks,
        learning_cortex(home, runtime=runtime, notes=notes, **sections) as it,
    ):
        await tasks.start(notes.run)
        it.notes = notes
        yield it
        tasks.cancel_scope.cancel()


async def until(is_so) -> None:
    with anyio.fail_after(60):
        while not is_so():
            await anyio.sleep(0.01)


async def test_a_note_comes_once_with_the_next_answer_whatever_that_is_about(tmp_path):
    source = Source("a habit")
    async with noting(tmp_path, source) as cortex:
        async with cortex.turn() as turn:
            told = await turn.answer("core.energy")
            again = await turn.answer("core.energy")
        assert (told.note, again.note) == ("about a habit", None)
        await until(lambda: source.became == [("a habit", True)])


async def test_a_note_stands_below_what_else_there_is_to_note(tmp_path):
    energy = EnergySettings(recharge_per_minute=0, initial_level=0.25)
    source = Source()
    async with noting(tmp_path, source, [GOOD, GOOD], energy=energy) as cortex, cortex.turn() as turn:
        alone = (await turn.answer("core.execute", RUN)).note
        source.left.append("a habit")
        source.marks += 1
        cortex.notes.news()
        await until(lambda: source.looks == 2)
        both = (await turn.answer("core.execute", RUN)).note
    assert alone
    assert both.endswith("\nabout a habit")


async def test_a_string_for_the_model_has_the_note_below_it_and_its_first_line_stays_the_reply(tmp_path):
    async with noting(tmp_path, Source("a habit"), [GOOD, GOOD]) as cortex, cortex.turn() as turn:
        first, second = [await turn.call("core.execute", RUN) for _ in range(2)]
    assert second == '{"total":1}'
    assert first == '{"total":1}\n\nNote: about a habit'


async def test_code_for_a_program_is_answered_with_the_note_apart(tmp_path):
    async with noting(tmp_path, Source("a habit"), [GOOD, GOOD]) as cortex, cortex.turn() as turn:
        first, second = [await turn.execute_code({"code": "return 1"}) for _ in range(2)]
    assert (first.text, first.note, first.structured["note"]) == ('{"total":1}', "about a habit", "about a habit")
    assert (second.text, second.note, "note" in second.structured) == ('{"total":1}', None, False)


async def test_a_refused_call_carries_a_note_too(tmp_path):
    async with noting(tmp_path, Source("a habit")) as cortex, cortex.turn() as turn:
        answer = await turn.answer("no.such.tool")
    assert (answer.ok, answer.note) == (False, "about a habit")


async def test_a_turn_that_has_ended_tells_nothing(tmp_path):
    source = Source("a habit")
    async with noting(tmp_path, source) as cortex:
        async with cortex.turn() as turn:
            pass
        assert "Note: " not in await turn.call("core.energy")
    assert source.claims == []


async def test_each_answer_carries_one_note_and_each_note_comes_once(tmp_path):
    source = Source("one", "two", "three")
    async with noting(tmp_path, source) as cortex:
        async with cortex.turn() as turn:
            notes = [(await turn.answer("core.energy")).note for _ in range(4)]
        async with cortex.turn() as turn:
            assert (await turn.answer("core.energy")).note is None
    assert notes == ["about one", "about two", "about three", None]


async def test_parallel_turns_tell_a_note_once(tmp_path):
    source = Source("a habit")
    notes: list[str | None] = []
    async with noting(tmp_path, source) as cortex:

        async def one() -> None:
            async with cortex.turn() as turn:
                notes.append((await turn.answer("core.energy")).note)

        async with anyio.create_task_group() as tasks:
            for _ in range(8):
                tasks.start_soon(one)
    assert sorted(filter(None, notes)) == ["about a habit"]


async def test_what_another_process_tells_is_not_told_here(tmp_path):
    source = Source("one", "two")
    source.taken_elsewhere = {"one"}
    async with noting(tmp_path, source) as cortex, cortex.turn() as turn:
        notes = [(await turn.answer("core.energy")).note for _ in range(2)]
    assert (notes, source.claims) == (["about two", None], ["one", "two"])


async def test_a_note_of_a_turn_that_was_cancelled_is_given_back_and_told_again(tmp_path):
    source = Source("a habit")
    async with noting(tmp_path, source) as cortex:
        with anyio.CancelScope() as scope:
            async with cortex.turn() as turn:
                assert (await turn.answer("core.energy")).note == "about a habit"
                scope.cancel()
                await anyio.sleep_forever()
        await until(lambda: source.became == [("a habit", False)])
        async with cortex.turn() as turn:
            assert (await turn.answer("core.energy")).note == "about a habit"
        await until(lambda: source.became[1:] == [("a habit", True)])


async def test_a_note_before_another_call_has_arrived_though_the_turn_ends_badly(tmp_path):
    source = Source("a habit")
    async with noting(tmp_path, source) as cortex:

        async def turn_that_fails() -> None:
            async with cortex.turn() as turn:
                await turn.answer("core.energy")
                await turn.answer("core.energy")
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await turn_that_fails()
        await until(lambda: source.became == [("a habit", True)])


async def test_what_a_turn_that_is_never_left_has_told_counts_as_told_when_the_process_ends(tmp_path):
    source = Source("a habit")
    async with noting(tmp_path, source) as cortex:
        assert (await cortex.turn().answer("core.energy")).note == "about a habit"
    assert source.became == [("a habit", True)]


async def test_a_note_waits_while_no_turn_is_open_and_what_is_told_now_is_not_found_again(tmp_path):
    source = Source()
    async with noting(tmp_path, source) as cortex:
        await until(lambda: source.looks == 1)
        source.left.append("a habit")
        source.marks += 1
        cortex.notes.news()
        await until(lambda: source.looks == 2)
        async with cortex.turn() as turn:
            assert (await turn.answer("core.energy")).note == "about a habit"
            source.left.append("a habit")  # the mark is not on disk yet
            source.marks += 1
            cortex.notes.news()
            await until(lambda: source.looks == 3)
            turn._notes._given.clear()
            assert (await turn.answer("core.energy")).note is None


async def test_a_source_is_read_once_while_nothing_changes_there(tmp_path, monkeypatch):
    monkeypatch.setattr("cortex.turn.notes.LOOK_S", 0.001)
    stamps = 0

    class Counting(Source):
        def stamp(self) -> object:
            nonlocal stamps
            stamps += 1
            return super().stamp()

    source = Counting()
    async with noting(tmp_path, source):
        await until(lambda: stamps > 20)
        assert source.looks == 1
        source.marks += 1  # not read again before some time has passed
        await until(lambda: stamps > 40)
        assert source.looks == 1


async def test_a_source_that_fails_ends_nothing_and_is_asked_again(tmp_path):
    source = Source("a habit")
    source.trouble = OSError("the disk is full")
    async with noting(tmp_path, source) as cortex, cortex.turn() as turn:
        await until(lambda: source.looks == 1)
        assert (await turn.answer("core.energy")).note is None
        source.trouble = None
        source.marks += 1
        cortex.notes.news()
        await until(lambda: source.looks == 2)
        source.trouble = OSError("the disk is full")
        assert (await turn.answer("core.energy")).note is None


async def test_a_cortex_without_notes_answers_the_same(tmp_path):
    async with learning_cortex(tmp_path) as cortex, cortex.turn() as turn:
        assert (await turn.answer("core.energy")).note is None
