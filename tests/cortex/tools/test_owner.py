"""Who is asked, and what that person is shown."""

from __future__ import annotations

import anyio
import pytest

from cortex.tools.owner import AbsentOwner, Decision, Question, ScriptedOwner, describe

QUESTION = Question("shop.order", {"item": "pear", "amount": 3}, "model", "to restock", "t1")


async def test_an_absent_owner_denies_and_says_why():
    assert await AbsentOwner().decide(QUESTION) == Decision(
        allowed=False, reason="there is no owner to ask", is_answer=False
    )


async def test_a_scripted_owner_gives_its_decisions_in_order_and_keeps_the_questions():
    owner = ScriptedOwner([True, Decision(False, "too dear"), None])
    assert await owner.decide(QUESTION) == Decision(allowed=True)
    assert await owner.decide(QUESTION) == Decision(allowed=False, reason="too dear")
    with anyio.move_on_after(0.01) as silence:
        await owner.decide(QUESTION)
    assert silence.cancelled_caught
    assert not (await owner.decide(QUESTION)).allowed
    assert owner.questions == [QUESTION] * 4


def test_a_question_says_who_wants_what_and_why():
    assert describe(QUESTION) == (
        'The agent wants to call shop.order\n  its purpose, in its own words: to restock\n  item = "pear"\n  amount = 3'
    )
    inside = Question("shop.close", {}, "code")
    assert describe(inside) == "Code that the agent wrote wants to call shop.close\n  without arguments"


def test_nothing_in_a_question_can_control_a_terminal_or_pass_for_a_line_of_ours():
    text = describe(
        Question(
            "shop.order",
            {"item\n  amount": "\x1b[2J\u202e\nThe agent wants to call nothing", "\x07": {"\x1b": "\r"}},
            "model",
            "fine\n  item = 1\x1b]0;x\x07\u2028",
        )
    )
    assert len(text.splitlines()) == 4
    assert all(character.isprintable() or character == "\n" for character in text)


@pytest.mark.parametrize("size", [501, 20_000, 20_001, 100_000])
def test_a_question_says_what_it_leaves_out(size):
    text = describe(Question("f", {"a": 10 ** (size - 2) * 10 + 7}, "model"))
    assert text.endswith("07") == (size <= 20_000), "who consents sees it to its end"
    assert ("more characters are not shown" in text) == (size > 20_000)
    assert len(text) < 20_200


@pytest.mark.parametrize("size", [500, 501, 100_000])
def test_words_and_names_in_a_question_are_short(size):
    text = describe(Question("f", {"n" * size: 1}, "model", "p" * size))
    assert text.count("more characters are not shown") == (2 if size > 500 else 0)
    assert len(text) < 1_300


def test_code_is_shown_line_by_line_because_it_is_what_the_owner_consents_to():
    arguments = {"purpose": "add", "code": "const a = 1;\nreturn a\x1b[2J", "tier": "isolated", "timeout": 5000}
    assert describe(Question("core.execute", arguments, "model", "add")) == (
        "The agent wants to call core.execute\n"
        "  its purpose, in its own words: add\n"
        "  | const a = 1;\n"
        "  | return a⟨U+001B⟩[2J\n"
        '  tier = "isolated"\n'
        "  timeout = 5000"
    )


def test_the_question_says_how_much_of_long_code_is_not_shown():
    arguments = {"code": "x" * 30_000}
    assert describe(Question("core.execute", arguments, "model")).endswith("(10000 more characters are not shown)")


def test_a_workflow_is_named_as_the_one_who_asks():
    assert describe(Question("repo.post", {"text": "a"}, "workflow")).startswith("A workflow wants to call repo.post")


def test_a_question_of_a_workflow_is_shown_and_cannot_control_the_terminal():
    asked = {"run": "r1\x1b[2J", "task": "sure", "shown": "Is it right?\nA workflow wants\x1b[2J", "hash": "h"}
    text = describe(Question("core.decision", asked, "workflow"))
    assert "\x1b" not in text
    assert text.startswith("A workflow asks you (task sure of run r1")
    assert not any(line.startswith("A workflow wants") for line in text.splitlines())
    long = describe(Question("core.decision", {**asked, "shown": "x" * 30_000}, "workflow"))
    assert "10000 more characters are not shown" in long
