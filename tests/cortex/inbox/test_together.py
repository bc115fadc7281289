"""Several calls of one tool by one run are one question: all of them, some, or none."""

from __future__ import annotations

import json
import time

import anyio
import pytest

from cortex.home import Home
from cortex.inbox import QuestionBox
from cortex.settings import Settings
from cortex.tools import Decision, Question, as_one, describe
from cortex.tools.collected import MAX_ALL_SHOWN, collected_lines, numbers_in
from cortex.views import hash_of_all, questions_of, together_with

from .stage import asking_agent, eventually, seen, shell
from .test_inbox_owner import Person, cortex_of

MOST_CPU_S = 0.05
ITEMS = ("tea", "milk", "sugar", "salt")


async def all_ordered(cortex, items=ITEMS) -> dict[str, str]:
    answers: dict[str, str] = {}

    async def order(turn, item):
        answers[item] = await turn.call("shop_order", {"item": item})

    async with cortex.turn() as turn, anyio.create_task_group() as tasks:
        for item in items:
            tasks.start_soon(order, turn, item)
    return answers


@pytest.mark.parametrize(
    ("decision", "numbers"),
    [
        (Decision(True), {1, 2, 3, 4}),
        (Decision(False, "too much"), set()),
        (Decision(True, only=frozenset({2, 4})), {2, 4}),
    ],
)
async def test_a_person_decides_once_about_all_some_or_none(tmp_path, decision, numbers):
    person = Person(decision)
    cortex, ordered = cortex_of(tmp_path, person)
    async with cortex:
        answers = await all_ordered(cortex)
    [question] = person.asked
    items = [one.arguments["item"] for one in (question, *question.others)]
    assert sorted(items) == sorted(ITEMS)
    allowed = {item for number, item in enumerate(items, 1) if number in numbers}
    assert {*ordered} == allowed
    assert all(("ordered" in answers[item]) is (item in allowed) for item in ITEMS)
    assert {one.arguments["item"]: one.allowed for one in seen(tmp_path)} == {item: item in allowed for item in ITEMS}


async def test_a_call_that_the_inbox_answered_is_not_decided_again_by_the_person(tmp_path):
    class Late(Person):
        async def decide(self, question) -> Decision:
            self.asked.append(question)
            if len(self.asked) == 1:
                with QuestionBox.opened(Home(tmp_path)) as box:
                    for one in seen(tmp_path):
                        if one.arguments["item"] == "milk":
                            said = {"allowed": False, "by": "owner", "record": lambda *_, **__: None}
                            box.answer(one.id, one.shown_hash, **said)
            return Decision(True)

    cortex, ordered = cortex_of(tmp_path, Late())
    async with cortex:
        await all_ordered(cortex)
    assert sorted(ordered) == ["salt", "sugar", "tea"]


async def test_calls_that_wait_together_count_as_one_question_up_to_the_setting(tmp_path):
    many = [f"item {number}" for number in range(60)]
    person = Person(Decision(True))
    cortex, ordered = cortex_of(tmp_path / "one", person, questions=1)
    async with cortex:
        answers = await all_ordered(cortex, many)
    assert len(ordered) == 50
    assert sum("at most 1 questions" in answer for answer in answers.values()) == 10
    assert len(person.asked) == 1
    cortex, ordered = cortex_of(tmp_path / "each", Person(Decision(True)), questions=5, max_together=1)
    async with cortex:
        await all_ordered(cortex, many)
    assert len(ordered) == 5


async def test_calls_that_are_too_long_for_one_question_are_asked_one_by_one(tmp_path):
    person = Person(Decision(True))
    cortex, ordered = cortex_of(tmp_path, person)
    async with cortex:
        await all_ordered(cortex, ["x" * 3_000, "y" * 3_000])
    assert [question.others for question in person.asked] == [(), ()]
    assert len(ordered) == 2


def three_asked(agent, home):
    agent.asks("a tea of Ceylon", "a tea of Assam", "a tea of Uji", note="for two")
    return eventually(lambda: found if len(found := [one for one in seen(home) if one.is_open]) == 3 else None)


def test_one_answer_from_a_shell_allows_some_and_refuses_the_others(tmp_path):
    with asking_agent(tmp_path) as agent:
        asked = three_asked(agent, tmp_path)
        [row] = [line for line in shell(tmp_path).stdout.splitlines() if "shop.order" in line]
        assert "3 x shop.order" in row
        shown = shell(tmp_path, "show", asked[0].id, "--together").stdout
        assert "wants to call shop.order, 3 times" in shown
        assert 'in each: note = "for two"' in shown
        assert 'item = "a tea of «Assam»"' in shown
        whole = hash_of_all(asked)
        assert f"hash of all:  {whole}" in shown
        [allowed] = [number for number, one in enumerate(asked, 1) if "Assam" in one.arguments["item"]]
        words = ("answer", asked[0].id, "yes", "--only", str(allowed), "--hash", whole[:12], "--json")
        done = [json.loads(line) for line in shell(tmp_path, *words).stdout.splitlines()]
        assert [one["allowed"] for one in done] == [number == allowed for number in (1, 2, 3)]
        assert sum("ordered" in answer for answer in agent.all_told()) == 1
    assert (tmp_path / "ordered").read_text() == "a tea of Assam\n"


def test_a_hash_of_other_questions_than_those_that_wait_now_answers_none(tmp_path):
    with asking_agent(tmp_path) as agent:
        asked = three_asked(agent, tmp_path)
        whole = hash_of_all(asked)
        shell(tmp_path, "answer", asked[1].id, "no")
        refused = shell(tmp_path, "answer", asked[0].id, "yes", "--together", "--hash", whole)
        assert refused.returncode == 3
        assert "the hash is not that of the 2 questions that wait together now" in refused.stderr
        for words in (("--only", "3"), ("--only", "0"), ("--only", "x"), ("--only", "2-1")):
            assert shell(tmp_path, "answer", asked[0].id, "yes", *words, "--hash", whole).returncode == 2
        assert shell(tmp_path, "answer", asked[0].id, "no", "--together").returncode == 0
        agent.all_told()
    assert not (tmp_path / "ordered").exists()


def test_questions_of_other_runs_do_not_go_together(tmp_path):
    with asking_agent(tmp_path) as first, asking_agent(tmp_path) as second:
        first.asks("tea")
        second.asks("milk")
        found = eventually(lambda: found if len(found := [one for one in seen(tmp_path) if one.is_open]) == 2 else None)
        assert together_with(found[0], found) == [found[0]]
        assert questions_of(Settings(home=tmp_path), lambda: 0.0)


def test_what_differs_stands_between_marks_and_what_is_the_same_is_said_once():
    calls = [{"repo": "me/x", "n": n, "title": f"Fix bug {n} in it"} for n in (1, 22, 3)]
    assert collected_lines("It wants to call a.b", calls) == [
        "It wants to call a.b, 3 times",
        '  in each: repo = "me/x"',
        '  1. n = «1», title = "Fix bug «1» in it"',
        '  2. n = «22», title = "Fix bug «22» in it"',
        '  3. n = «3», title = "Fix bug «3» in it"',
    ]
    same = collected_lines("x", [{}, {}])
    assert same == ["x, 2 times", "  1. (the same)", "  2. (the same)"]
    lacking = collected_lines("x", [{"path": "a", "dry_run": True}, {"path": "a"}])
    assert lacking == ["x, 2 times", '  in each: path = "a"', "  1. dry_run = «true»", "  2. without dry_run"]
    hostile = collected_lines("x", [{"\x1b[2J\n": "\x1b[31m\u202e"}, {"\x1b[2J\n": "2"}])
    assert all(char.isprintable() for line in hostile for char in line)
    assert collected_lines("x", [{"a": "x" * 3_000}]) is None
    assert collected_lines("x", [{"a": str(n) + "x" * 1_000} for n in range(100)]) is None


@pytest.mark.parametrize(
    "calls",
    [
        [{f"name {n}": n for n in range(100_000)}] * 2,
        [{f"{call} {n}": n for n in range(40)} for call in range(50)],
        [{f"name {n}": call for n in range(40)} for call in range(50)],
        [{f"name {n}": "\u202e" * 500 for n in range(40)}] * 50,
        [{f"name {n}": f"{call}" + "x" * 1_990 for n in range(40)} for call in range(50)],
        [{"x" * 1_000_000: 1}] * 2,
    ],
    ids=["many names", "many names together", "all differ", "long when shown", "long together", "a long name"],
)
def test_no_arguments_keep_the_event_loop_busy(calls):
    questions = [Question("shop.order", call, "code") for call in calls]
    began = time.thread_time()
    one = as_one(questions)
    told = "" if one is None else describe(one)
    assert time.thread_time() - began < MOST_CPU_S
    assert len(told) < 2 * MAX_ALL_SHOWN
    began = time.thread_time()
    told = describe(questions[0])
    assert time.thread_time() - began < MOST_CPU_S
    assert len(told) < 1_000_000
    if len(calls[0]) > 200:
        assert told.endswith("\n  … (99800 more arguments are not shown)")


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,3-5", {1, 3, 4, 5}),
        (" 2 ", {2}),
        ("1-1", {1}),
        ("", None),
        ("0", None),
        ("7", None),
        ("2-1", None),
        ("y", None),
        ("1,", None),
        ("-1", None),
        ("1-9999999999", None),
        ("²", None),
    ],
)
def test_numbers_are_read_strictly(text, numbers):
    assert numbers_in(text, 6) == (None if numbers is None else frozenset(numbers))
