"""The inbox of the console: questions of a real agent in a process of its own, answered on the page."""

from __future__ import annotations

import pytest

from cortex.console import Guards
from cortex.views import hash_of_all
from tests.cortex.inbox.stage import asking_agent, eventually, open_question, seen

from .agent import Agent
from .served import audit_facts, served

HOSTILE = "tea</pre><script>pwned=1</script>\u202egpj.exe\u200b"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    found = tmp_path_factory.mktemp("inbox") / "home"
    found.mkdir(mode=0o700)
    return found


@pytest.fixture(scope="module")
def asking(home):
    with asking_agent(home) as found:
        yield found


@pytest.fixture(scope="module")
def owner(home, asking):
    with served(home) as found:
        yield found.log_in()


def asked(home, asking, item: str = "tea"):
    asking.asks(item)
    return open_question(home)


def answers(home) -> list[dict]:
    return [one for one in audit_facts(home) if one["kind"] == "owner_decision" and one.get("what") == "answer"]


def test_a_no_is_one_press_and_the_agent_is_told_the_reason(home, asking, owner):
    question = asked(home, asking, "pears")
    page = owner.get("/inbox").text
    assert "pears" in page
    assert question.shown_hash in page
    assert '<span class="count urgent"' in page
    assert "1 question of an agent waits" in owner.get("/").text
    reply = owner.post(f"/inbox/{question.id}/no", f"hash={question.shown_hash}&reason=too many pears")
    assert reply.status == 200
    assert owner.served.codes == []
    assert "too many pears" in asking.told()
    assert (answers(home)[-1]["by"], answers(home)[-1]["session"]) == ("owner (console)", owner.session.id)
    assert "urgent" not in owner.get("/inbox").text
    assert owner.post(f"/inbox/{question.id}/no", f"hash={question.shown_hash}").status == 409


def test_a_yes_needs_the_typed_hash_and_the_code_of_the_terminal(home, asking, owner):
    question = asked(home, asking)
    path, right = f"/inbox/{question.id}/yes", question.shown_hash[:8]
    assert owner.post(path).status == 409
    assert owner.post(path, f"hash={right[:7]}").status == 409
    assert owner.decide(path, "hash=00000000").status == 409  # the hash of another question
    place = owner.post(path, f"hash={right}").header("location")
    assert owner.post(place, "code=").status == 403
    shown = owner.get(place).text
    assert "allow" in shown
    assert owner.served.codes[-1].code not in shown
    assert seen(home)[-1].is_open
    assert owner.post(place, f"code={owner.served.codes[-1].code}").status == 200
    assert "tea" in asking.told()
    assert answers(home)[-1]["allowed"] is True


def test_without_the_need_of_a_code_a_page_could_say_yes(home, asking, owner):
    question = asked(home, asking)
    desk = owner.served.console.desk
    desk.guards = Guards(needs_code=False)
    try:
        assert owner.post(f"/inbox/{question.id}/yes", f"hash={question.shown_hash[:8]}").status == 200
    finally:
        desk.guards = Guards()
    assert "tea" in asking.told()


def together(home, asking, *items: str):
    """Several calls that the agent makes at once, as the owner sees them."""
    asking.asks(*items)

    def all_there():
        found = [one for one in seen(home) if one.is_open]
        return found if len(found) == len(items) else None

    return eventually(all_there)


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_one_answer_is_to_all_calls_of_a_run_that_were_shown(answer, home, asking, owner):
    questions = together(home, asking, "salt", "sugar", "milk")
    whole, first = hash_of_all(questions), questions[0].id
    page = owner.get("/inbox").text
    assert "be called 3 times?" in page
    assert whole in page
    assert page.count(f'/{answer}">') == 1
    path = f"/inbox/{first}/{answer}"
    # The hash of one of them, or of others, is to none of them.
    wrong = owner.decide if answer == "yes" else owner.post
    assert wrong(path, f"together=1&hash={questions[0].shown_hash}").status == 409
    assert all(one.is_open for one in seen(home)[-3:])
    right = f"together=1&hash={whole[:16]}"
    reply = owner.decide(path, right) if answer == "yes" else owner.post(path, right)
    assert reply.status == 200
    assert "3 times" in reply.text
    assert [("ordered" in told) for told in asking.all_told()] == [answer == "yes"] * 3
    if answer == "yes":
        assert "allow shop.order, 3 times" in owner.served.codes[-1].what


def test_an_answer_to_all_is_to_none_when_others_wait_by_then(home, asking, owner):
    questions = together(home, asking, "salt", "sugar")
    place = owner.post(f"/inbox/{questions[0].id}/yes", f"together=1&hash={hash_of_all(questions)}").header("location")
    owner.post(f"/inbox/{questions[1].id}/no", f"hash={questions[1].shown_hash}")
    assert owner.post(place, f"code={owner.served.codes[-1].code}").status == 409
    assert owner.post(f"/inbox/{questions[0].id}/no", f"hash={questions[0].shown_hash}").status == 200
    assert not any("ordered" in told for told in asking.all_told())


@pytest.mark.parametrize(
    ("items", "cards"),
    [([f"{n}{'x' * 1_100}END{n}" for n in range(40)], 1), ([f"{n}{'x' * 19_000}END{n}" for n in range(3)], 3)],
    ids=["together", "too long to be one"],
)
def test_nothing_is_cut_that_a_yes_is_to(items, cards, home, asking, owner):
    questions = together(home, asking, *items)
    page = owner.get("/inbox").text
    assert all(f"xEND{n}" in page for n in range(len(items)))
    assert (page.count('/yes">'), page.count("Yes to all")) == (cards, int(cards == 1))
    assert (hash_of_all(questions) if cards == 1 else questions[-1].shown_hash) in page
    for one in questions:
        owner.post(f"/inbox/{one.id}/no", f"hash={one.shown_hash}")
    assert not any("ordered" in told for told in asking.all_told())


def test_what_an_agent_asks_hides_and_runs_nothing(home, asking, owner):
    question = asked(home, asking, HOSTILE)
    page = owner.get("/inbox").text
    assert "<script>pwned" not in page
    assert "\u202e" not in page
    assert "\u200b" not in page
    owner.post(f"/inbox/{question.id}/no", f"hash={question.shown_hash}")
    asking.told()


def test_a_question_whose_program_has_ended_takes_no_answer(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    with asking_agent(home) as other:
        question = asked(home, other)
    with served(home) as found:
        client = found.log_in()
        eventually(lambda: not seen(home)[-1].is_open)
        for answer in ("yes", "no"):
            reply = client.post(f"/inbox/{question.id}/{answer}", f"hash={question.shown_hash}")
            assert reply.status == 409
        assert client.post("/inbox/nothing/no", f"hash={question.shown_hash}").status == 409
        assert found.codes == []
        assert "ended" in client.get("/inbox").text


def test_proposals_wait_in_the_inbox(tmp_path):
    agent = Agent(tmp_path / "home")
    neuron = agent.waiting("Tea price")
    with served(agent.home) as found:
        page = found.log_in().get("/inbox").text
    agent.close()
    assert f'href="/neurons/{neuron.id}"' in page
    assert "Wants to learn" in page
