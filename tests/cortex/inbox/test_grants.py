"""Standing grants: how far a yes goes, who counts its calls, and what makes it void."""

from __future__ import annotations

import json
import signal
import time
from dataclasses import replace

import anyio
import pytest

from cortex import MotorCortex, Settings, Toolbox
from cortex.commands import run_command
from cortex.home import Home
from cortex.inbox import INBOX_KEY, GrantBox, InboxError, KeptQuestion, QuestionBox, StandingGrant, grant_of
from cortex.inbox.asked_question import asked_question
from cortex.settings import ToolSettings
from cortex.tools import Question
from neurons import ApprovalKey
from sandbox.testing import ScriptedRuntime

from .stage import asking_agent, open_question, seen, shell
from .test_answers import decisions
from .test_inbox_owner import Person, answer, cortex_of, first_open

HASH = "a" * 64


def unrecorded(*_: object, **__: object) -> None:
    pass


def grant(**facts: object) -> StandingGrant:
    given = {
        "id": "0" * 16,
        "tool": "shop.order",
        "policy_hash": HASH,
        "same": {"item": HASH},
        "scope": "always",
        "until": 100.0,
        "question": "1" * 16,
        "shown_hash": HASH,
        "by": "owner",
        "at": 0.0,
    }
    return StandingGrant(**{**given, **facts})


CALL = Question("shop.order", {"item": "tea"}, "code", turn="t1", run=1, conversation="ada", policy_hash=HASH)
MARKS = {"item": HASH, "note": "b" * 64}


@pytest.mark.parametrize(
    ("given", "changes", "covered"),
    [
        ({}, {}, True),
        ({}, {"tool": "shop.orders"}, False),
        ({}, {"policy_hash": "c" * 64}, False),
        ({"until": 50.0}, {}, False),
        ({"same": {"item": "c" * 64}}, {}, False),
        ({}, {"arguments": {"item": "tea", "note": "x"}}, False),
        ({"same": {"item": HASH, "note": HASH}}, {}, False),
        ({}, {"arguments": {}}, False),
        ({"same": {}, "matching": {"item": "t*"}}, {}, True),
        ({"same": {}, "matching": {"item": "T*"}}, {}, False),
        ({"same": {}, "matching": {"item": "*"}}, {"arguments": {"item": "x" * 5_000}}, False),
        ({"same": {}, "matching": {"item": "[1*"}}, {"arguments": {"item": [1, 2]}}, True),
        ({"same": {}, "any_arguments": True}, {"arguments": {"anything": 1}}, True),
        ({"scope": "run", "turn": "t1", "run": 1}, {}, True),
        ({"scope": "run", "turn": "t1", "run": 2}, {}, False),
        ({"scope": "run", "turn": "t2", "run": 1}, {}, False),
        ({"scope": "run"}, {"turn": "", "run": None}, False),
        ({"scope": "run", "turn": "host"}, {"turn": "host", "run": None, "origin": "host"}, False),
        ({"scope": "conversation", "conversation": "ada"}, {}, True),
        ({"scope": "conversation", "conversation": "ben"}, {}, False),
        ({"scope": "conversation"}, {"conversation": ""}, False),
    ],
)
def test_a_grant_covers_exactly_what_it_says(given, changes, covered):
    assert grant(**given).covers(replace(CALL, **changes), MARKS, now=60.0) is covered


def test_what_the_program_itself_calls_is_granted_for_no_run(tmp_path):
    key = ApprovalKey.load_or_make(tmp_path).for_purpose(INBOX_KEY)
    asked = asked_question(replace(CALL, origin="host", turn="host", run=None), 0.0, key)
    kept = KeptQuestion(asked, 100.0, "open")
    with pytest.raises(InboxError, match="in no run"):
        grant_of(kept, scope="run", by="owner", now=0.0)
    assert grant_of(kept, scope="always", by="owner", now=0.0).scope == "always"


def grants_of(home):
    with GrantBox.opened(Home(home)) as box:
        return box.all()


def give(home, question, **terms) -> StandingGrant:
    """The owner answers yes and grants it for longer."""
    with QuestionBox.opened(Home(home)) as box, GrantBox.opened(Home(home)) as grants:
        made = grant_of(box.find(question.id), by="owner (test)", now=time.time(), **terms)
        answer(home, question, allowed=True)
        grants.give(made, unrecorded)
    return made


async def order(cortex, item="tea", conversation="ada") -> str:
    async with cortex.turn(conversation=conversation) as turn:
        return await turn.call("shop_order", {"item": item})


async def granted(tmp_path, **terms):
    """A home with one grant that came with an answer."""
    cortex, ordered = cortex_of(tmp_path, unattended=True)
    async with cortex, anyio.create_task_group() as tasks:
        tasks.start_soon(order, cortex)
        made = give(tmp_path, await first_open(tmp_path), **terms)
    assert ordered == ["tea"]
    return made


async def test_a_conversation_is_asked_once_and_another_one_anew(tmp_path):
    made = await granted(tmp_path, scope="conversation")
    cortex, ordered = cortex_of(tmp_path)  # where nobody can be asked
    async with cortex:
        assert await order(cortex) == '"ordered"'
        assert "no owner can be asked" in await order(cortex, conversation="ben")
        assert "no owner can be asked" in await order(cortex, item="gold")
    assert ordered == ["tea"]
    said = [one for one in decisions(tmp_path) if one["what"] == "tool call" and one["allowed"]]
    assert [one["by"] for one in said] == ["owner (test)", f"grant {made.id}"]
    assert [kept.used for kept in grants_of(tmp_path)] == [1]


async def test_arguments_may_differ_where_a_pattern_says_so(tmp_path):
    await granted(tmp_path, scope="always", matching={"item": "t?a"})
    cortex, ordered = cortex_of(tmp_path)
    async with cortex:
        for item in ("tea", "toa", "tiara", "gold"):
            await order(cortex, item, "ben")
    assert ordered == ["tea", "toa"]


async def test_granted_calls_are_not_counted_as_questions(tmp_path):
    await granted(tmp_path, scope="always")
    cortex, ordered = cortex_of(tmp_path, Person(), questions=0)
    async with cortex, cortex.turn() as turn:
        for _ in range(5):
            await turn.call("shop_order", {"item": "tea"})
    assert len(ordered) == 5


async def test_a_grant_also_answers_the_questions_that_are_open(tmp_path):
    cortex, ordered = cortex_of(tmp_path, Person())
    async with cortex, cortex.turn() as turn, anyio.create_task_group() as tasks:
        for item in ("tea", "milk"):
            tasks.start_soon(turn.call, "shop_order", {"item": item})
        with anyio.fail_after(30):
            while len(found := [one for one in await opened(tmp_path) if one.is_open]) < 2:
                await anyio.sleep(0.02)
        give(tmp_path, found[0], scope="run", matching={"item": "*"})
    assert sorted(ordered) == ["milk", "tea"]


async def opened(home):
    return await anyio.to_thread.run_sync(seen, home)


@pytest.mark.parametrize("changed", ["setting", "declaration", "registered"])
async def test_a_changed_policy_or_tool_makes_a_grant_void(tmp_path, changed):
    await granted(tmp_path, scope="always")
    toolbox, ordered = Toolbox(), []

    async def order_it(item: str) -> str:
        ordered.append(item)
        return "ordered"

    order_it.__doc__ = "Order something else." if changed == "declaration" else "Order something."
    toolbox.add(order_it, name="shop.order", policy="allow" if changed == "registered" else "ask")
    policies = {} if changed == "declaration" else {"shop.order": "ask"}
    settings = Settings(home=tmp_path, tools=ToolSettings(policies=policies))
    async with MotorCortex(settings, toolbox=toolbox, runtime=ScriptedRuntime([])) as cortex:
        assert "no owner can be asked" in await order(cortex)
    assert ordered == []


async def test_a_revoked_grant_is_none(tmp_path):
    made = await granted(tmp_path, scope="always")
    listed = shell(tmp_path, "grants").stdout
    assert made.id[:8] in listed
    assert "shop.order" in listed
    assert 'as in: item = "tea"' in listed
    assert shell(tmp_path, "revoke", made.id[:6]).stdout.startswith(f"{made.id[:8]} was revoked")
    cortex, _ = cortex_of(tmp_path)
    async with cortex:
        assert "no owner can be asked" in await order(cortex)
    assert decisions(tmp_path)[-2]["what"] == "revoke"
    assert shell(tmp_path, "grants").stdout == "Nothing is granted\n"
    assert "there is no such grant" in shell(tmp_path, "revoke", made.id).stderr


@pytest.mark.parametrize(
    "edit",
    [
        lambda kept: {**kept, "used": 0},
        lambda kept: {**kept, "grant": {**kept["grant"], "times": 100}},
        lambda kept: {**kept, "grant": {**kept["grant"], "tool": "shop.refund"}},
        lambda kept: {**kept, "grant": {**kept["grant"], "until": 4e9}},
        lambda kept: {**kept, "seal": "0" * 64},
        lambda kept: {"grant": kept["grant"]},
        lambda _: {},
    ],
)
async def test_an_edited_or_forged_grant_is_none(tmp_path, edit):
    made = await granted(tmp_path, scope="always", times=1)
    cortex, ordered = cortex_of(tmp_path)
    async with cortex:
        await order(cortex)
        path = Home(tmp_path).state / "grants" / f"{made.id}.json"
        kept = json.loads(path.read_text())
        assert kept["used"] == 1
        path.write_text(json.dumps(edit(kept)))
        assert "no owner can be asked" in await order(cortex)
    assert ordered == ["tea"]
    assert grants_of(tmp_path) == []


async def test_a_grant_of_another_home_is_none(tmp_path):
    await granted(tmp_path / "one", scope="always")
    cortex, ordered = cortex_of(tmp_path / "two")
    async with cortex:
        source, target = (Home(tmp_path / name).state / "grants" for name in ("one", "two"))
        target.mkdir(mode=0o700)
        for path in source.glob("*.json"):
            (target / path.name).write_bytes(path.read_bytes())
        assert "no owner can be asked" in await order(cortex)
    assert ordered == []


def test_at_most_n_times_holds_across_processes_and_kills(tmp_path):
    with asking_agent(tmp_path, seconds=3) as first, asking_agent(tmp_path, seconds=3) as second:
        first.asks("tea")
        question = open_question(tmp_path)
        give(tmp_path, question, scope="always", times=3)
        first.told()
        for agent in (first, second):
            agent.asks(*["tea"] * 4)
        first.process.send_signal(signal.SIGKILL)
        second.all_told()
    with asking_agent(tmp_path, seconds=3) as third:
        third.asks(*["tea"] * 4)
        third.all_told()
    orders = (tmp_path / "ordered").read_text().splitlines()
    # The killed one may have counted a call that it did not make.
    assert 1 <= len(orders) <= 1 + 3
    assert grants_of(tmp_path) == []


def test_two_processes_share_the_count_of_a_grant(tmp_path):
    with asking_agent(tmp_path, seconds=3) as first, asking_agent(tmp_path, seconds=3) as second:
        first.asks("tea")
        give(tmp_path, open_question(tmp_path), scope="always", times=5)
        first.told()
        for agent in (first, second):
            agent.asks(*["tea"] * 5)
        told = [*first.all_told(), *second.all_told()]
    assert sum("ordered" in answer for answer in told) == 5
    assert len((tmp_path / "ordered").read_text().splitlines()) == 6


def test_a_shell_grants_with_an_answer(tmp_path):
    with asking_agent(tmp_path) as agent:
        agent.asks("tea")
        question = open_question(tmp_path)
        words = ("yes", "--hash", question.shown_hash, "--for", "always", "--times", "1", "--until", "2h")
        done = shell(tmp_path, "answer", question.id, *words, "--matching", "item=t*")
        assert "shop.order in every program until" in done.stdout
        assert "1 more times at most" in done.stdout
        agent.told()
        agent.asks("tonic")
        assert agent.told() == '"ordered tonic"'
    answered, made, first, second = sorted(decisions(tmp_path), key=lambda one: one["what"])
    assert (answered["what"], made["what"], made["tool"]) == ("answer", "grant", "shop.order")
    assert {first["by"], second["by"]} == {"owner (inbox)", f"grant {made['grant']}"}


@pytest.mark.parametrize(
    ("words", "told", "code"),
    [
        (("yes", "--times", "3"), "go with --for", 2),
        (("no", "--for", "always"), "--for goes with yes", 2),
        (("yes", "--for", "always", "--until", "2001-01-01"), "a grant ends in the future", 3),
        (("yes", "--for", "always", "--until", "2999-01-01"), "within a year", 3),
        (("yes", "--for", "always", "--until", "soon"), "--until takes a date", 2),
        (("yes", "--for", "always", "--matching", "other=x"), 'the question has no argument "other"', 3),
        (("yes", "--for", "always", "--matching", "x"), "--matching takes NAME=PATTERN", 2),
        (("yes", "--for", "conversation"), "the question belongs to no conversation", 3),
        (("yes", "--for", "always", "--times", "0"), "a number of calls", 2),
    ],
)
def test_terms_that_make_no_sense_answer_nothing(capsys, words, told, code, one_question):
    home, question = one_question
    arguments = ["inbox", "answer", question.id, *words, "--hash", question.shown_hash, "--home", str(home)]
    assert code_of(arguments) == code
    assert told in capsys.readouterr().err
    assert open_question(home).id == question.id
    assert grants_of(home) == []


def code_of(arguments: list[str]) -> object:
    try:
        return run_command(arguments)
    except SystemExit as error:
        return error.code


@pytest.fixture(scope="module")
def one_question(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    with asking_agent(home, seconds=600) as agent:
        agent.asks("tea")
        yield home, open_question(home)


async def test_there_are_only_so_many_grants(tmp_path):
    made = await granted(tmp_path, scope="always")
    with GrantBox.opened(Home(tmp_path)) as box:
        for number in range(99):
            box.give(made.model_copy(update={"id": f"{number:016x}"}), unrecorded)
        with pytest.raises(InboxError, match="there are 100 standing grants"):
            box.give(made.model_copy(update={"id": "f" * 16}), unrecorded)
        assert len(box.all()) == 100
    with GrantBox.opened(Home(tmp_path), now=lambda: time.time() + 90_000) as later:
        assert later.all() == []
        assert later._make_room() == 0


def test_the_key_of_grants_is_not_that_of_approvals(tmp_path):
    key = ApprovalKey(b"k" * 32)
    assert key.for_purpose("inbox").signature("x") != key.for_purpose("other").signature("x")
    assert key.for_purpose("inbox").has_signed(key.for_purpose("inbox").signature("x", 1), "x", 1)
    assert not key.for_purpose("inbox").has_signed(key.for_purpose("inbox").signature("x", 1), "x", 2)
    assert "k" not in repr(key.for_purpose("inbox")).removeprefix("PurposeKey")
