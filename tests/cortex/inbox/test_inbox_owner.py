"""The inbox beside an owner who is asked in the program's own way."""

from __future__ import annotations

import math
import time

import anyio
import pytest

from cortex import MotorCortex, Settings, Toolbox
from cortex.audit import AuditError
from cortex.home import Home
from cortex.inbox import InboxError, QuestionBox
from cortex.settings import InboxSettings, ToolSettings
from cortex.tools import Decision, ScriptedOwner
from sandbox.testing import ScriptedRuntime

from .stage import seen

BIG = "x" * 400_000


class Person:
    """Somebody at a terminal, who answers when told to."""

    is_there = True

    def __init__(self, answer: Decision | None = None, *, raises: bool = False) -> None:
        self.answer = answer
        self.raises = raises
        self.asked: list = []
        self.withdrawn = 0
        self.is_asked = anyio.Event()

    async def decide(self, question) -> Decision:
        self.asked.append(question)
        self.is_asked.set()
        if self.raises:
            raise RuntimeError("no screen")
        if self.answer is not None:
            return self.answer
        try:
            await anyio.sleep(math.inf)
        finally:
            self.withdrawn += 1
        raise AssertionError("eternity has passed")


def shop() -> tuple[Toolbox, list[str]]:
    toolbox, ordered = Toolbox(), []

    @toolbox.tool(name="shop.order", policy="ask")
    async def order(item: str) -> str:
        """Order something."""
        ordered.append(item[:20])
        return "ordered"

    return toolbox, ordered


def cortex_of(home, owner=None, seconds=30.0, questions=20, **inbox):
    toolbox, ordered = shop()
    settings = Settings(
        home=home,
        inbox=InboxSettings(**inbox),
        tools=ToolSettings(owner_timeout_s=seconds, max_questions_per_turn=questions),
    )
    return MotorCortex(settings, toolbox=toolbox, owner=owner, runtime=ScriptedRuntime([])), ordered


async def ordered_by(cortex, item="tea") -> str:
    async with cortex.turn() as turn:
        return await turn.call("shop_order", {"item": item})


async def first_open(home):
    with anyio.fail_after(30):
        while True:
            found = [one for one in seen(home) if one.is_open]
            if found:
                return found[0]
            await anyio.sleep(0.02)


def answer(home, question, *, allowed: bool, **more) -> None:
    with QuestionBox.opened(Home(home)) as box:
        box.answer(
            question.id, question.shown_hash, allowed=allowed, by="owner (test)", record=lambda *_, **__: None, **more
        )


@pytest.mark.parametrize("allowed", [True, False])
async def test_the_inbox_answers_while_a_person_is_asked_who_then_is_asked_no_more(tmp_path, allowed):
    person = Person()
    cortex, ordered = cortex_of(tmp_path, person)
    async with cortex, anyio.create_task_group() as tasks:
        tasks.start_soon(ordered_by, cortex)
        question = await first_open(tmp_path)
        with anyio.fail_after(30):
            await person.is_asked.wait()
        answer(tmp_path, question, allowed=allowed)
    assert ordered == (["tea"] if allowed else [])
    assert (len(person.asked), person.withdrawn) == (1, 1)


@pytest.mark.parametrize("allowed", [True, False])
async def test_the_person_answers_and_the_document_says_so(tmp_path, allowed):
    cortex, ordered = cortex_of(tmp_path, Person(Decision(allowed, by="owner (terminal)")))
    async with cortex:
        await ordered_by(cortex)
    [question] = seen(tmp_path)
    assert (question.state, question.allowed, question.by) == ("answered", allowed, "owner (terminal)")
    assert ordered == (["tea"] if allowed else [])
    with pytest.raises(InboxError, match=r"was answered: (yes|no), by owner \(terminal\)"):
        answer(tmp_path, question, allowed=True)


async def test_the_first_answer_wins_against_a_person_who_is_later(tmp_path):
    class Slow(Person):
        async def decide(self, question) -> Decision:
            answer(tmp_path, seen(tmp_path)[0], allowed=False, reason="not today")
            return Decision(True, by="owner (terminal)")

    cortex, ordered = cortex_of(tmp_path, Slow())
    async with cortex:
        assert "not today" in await ordered_by(cortex)
    assert ordered == []


async def test_an_owner_who_fails_is_no_yes_and_the_question_is_closed(tmp_path):
    cortex, ordered = cortex_of(tmp_path, Person(raises=True))
    async with cortex:
        assert "could not be asked" in await ordered_by(cortex)
    assert [one.state for one in seen(tmp_path)] == ["withdrawn"]
    assert ordered == []


async def test_a_cancelled_turn_withdraws_its_question(tmp_path):
    cortex, _ = cortex_of(tmp_path, Person())
    async with cortex:
        with anyio.move_on_after(30) as scope:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ordered_by, cortex)
                await first_open(tmp_path)
                scope.cancel()
    assert [one.state for one in seen(tmp_path)] == ["expired"]


async def test_without_anybody_a_program_refuses_at_once_unless_it_is_to_wait(tmp_path):
    cortex, _ = cortex_of(tmp_path)
    async with cortex:
        assert "no owner can be asked here" in await ordered_by(cortex)
    assert seen(tmp_path) == []
    cortex, ordered = cortex_of(tmp_path, unattended=True)
    async with cortex, anyio.create_task_group() as tasks:
        tasks.start_soon(ordered_by, cortex)
        answer(tmp_path, await first_open(tmp_path), allowed=True)
    assert ordered == ["tea"]


async def test_a_disabled_inbox_keeps_no_question(tmp_path):
    cortex, ordered = cortex_of(tmp_path, ScriptedOwner([True]), enabled=False, unattended=True)
    async with cortex:
        await ordered_by(cortex)
    assert ordered == ["tea"]
    assert seen(tmp_path) == []


async def test_more_questions_than_are_kept_are_asked_where_the_program_runs(tmp_path):
    cortex, ordered = cortex_of(tmp_path, ScriptedOwner([True] * 3), max_open=1)
    waiting, _ = cortex_of(tmp_path, Person())
    async with waiting, cortex, anyio.create_task_group() as tasks:
        tasks.start_soon(ordered_by, waiting, "coffee")
        await first_open(tmp_path)
        await ordered_by(cortex)
        tasks.cancel_scope.cancel()
    assert ordered == ["tea"]
    assert [one.arguments["item"] for one in seen(tmp_path)] == ["coffee"]


async def test_questions_of_one_turn_stand_side_by_side_in_the_inbox(tmp_path):
    cortex, ordered = cortex_of(tmp_path, unattended=True)
    async with cortex, cortex.turn() as turn, anyio.create_task_group() as tasks:
        for item in ("tea", "milk", "sugar"):
            tasks.start_soon(turn.call, "shop_order", {"item": item})
        with anyio.fail_after(30):
            while len(seen(tmp_path)) < 3:
                await anyio.sleep(0.02)
        for one in reversed(seen(tmp_path)):
            answer(tmp_path, one, allowed=one.arguments["item"] != "milk")
    assert sorted(ordered) == ["sugar", "tea"]


async def test_long_arguments_are_cut_and_what_is_left_out_is_counted(tmp_path):
    cortex, ordered = cortex_of(tmp_path, unattended=True)
    async with cortex, anyio.create_task_group() as tasks:
        tasks.start_soon(ordered_by, cortex, BIG)
        question = await first_open(tmp_path)
        assert len(question.arguments["item"]) < 131_072
        assert question.left_out > 200_000
        assert f"({question.left_out} more characters are not shown)" in question.lines[-1]
        answer(tmp_path, question, allowed=False)
    assert ordered == []


async def test_an_answer_that_cannot_be_recorded_is_not_given(tmp_path):
    def full(*_: object, **__: object) -> None:
        raise AuditError("the disk is full")

    cortex, ordered = cortex_of(tmp_path, unattended=True)
    async with cortex, anyio.create_task_group() as tasks:
        tasks.start_soon(ordered_by, cortex)
        question = await first_open(tmp_path)
        with QuestionBox.opened(Home(tmp_path)) as box, pytest.raises(AuditError):
            box.answer(question.id, question.shown_hash, allowed=True, by="owner", record=full)
        assert (await first_open(tmp_path)).id == question.id
        answer(tmp_path, question, allowed=False)
    assert ordered == []


async def test_old_questions_make_way(tmp_path):
    cortex, _ = cortex_of(tmp_path, ScriptedOwner([True] * 60))
    async with cortex:
        for _ in range(54):
            await ordered_by(cortex)
    assert len(seen(tmp_path)) == 51
    with QuestionBox.opened(Home(tmp_path), now=lambda: time.time() + 90_000) as later:
        assert later._make_room() == 0
        assert later.all() == []
