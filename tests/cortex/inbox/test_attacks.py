"""Who may write files somewhere else than the home, or edits what is in it without its key, answers nothing."""

from __future__ import annotations

import json

import pytest

from cortex.home import Home
from cortex.inbox import INBOX_KEY, InboxError, SignedAnswer
from neurons import ApprovalKey

from .stage import asking_agent, document_of, open_question, seen, shell
from .test_inbox_owner import answer

YES = {"allowed": True, "reason": "", "by": "owner (inbox)", "at": 1_800_000_000.0}


@pytest.fixture
def asked(tmp_path):
    """An agent of a home that waits for an answer, with little time."""
    with asking_agent(tmp_path, seconds=2) as agent:
        agent.asks("tea")
        yield agent, open_question(tmp_path), tmp_path


def edit(home, question, **changes):
    path = document_of(home, question)
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, **changes}))


def test_an_answer_without_a_signature_of_the_home_is_ignored(asked):
    agent, question, home = asked
    edit(home, question, answer={**YES, "signature": "0" * 64})
    assert "no answer within" in agent.told()
    assert not (home / "ordered").exists()
    assert [one.state for one in seen(home)] == ["expired"]


def test_a_forged_answer_does_not_keep_the_owner_from_answering(tmp_path):
    with asking_agent(tmp_path) as agent:
        agent.asks("tea")
        question = open_question(tmp_path)
        edit(tmp_path, question, answer={**YES, "allowed": False, "signature": "0" * 64})
        assert open_question(tmp_path).id == question.id
        assert shell(tmp_path, "answer", question.id, "yes", "--hash", question.shown_hash).returncode == 0
        assert agent.told() == '"ordered tea"'


def test_an_answer_signed_with_another_key_is_ignored(asked):
    agent, question, home = asked
    stranger = ApprovalKey(b"k" * 32).for_purpose(INBOX_KEY)
    forged = SignedAnswer.signed(stranger, question.shown_hash, allowed=True, reason="", by="owner", at=1.0)
    edit(home, question, answer=forged.model_dump())
    assert "no answer within" in agent.told()


def test_a_signature_of_the_same_key_for_another_purpose_is_no_answer(asked):
    agent, question, home = asked
    key = ApprovalKey.load(Home(home).state)
    other = SignedAnswer.signed(
        key.for_purpose("other"), question.shown_hash, allowed=True, reason="", by="owner", at=1.0
    )
    edit(home, question, answer=other.model_dump())
    assert "no answer within" in agent.told()


def test_an_answer_to_another_question_does_not_fit(tmp_path):
    with asking_agent(tmp_path, seconds=3) as agent:
        agent.asks("tea")
        first = open_question(tmp_path)
        answer(tmp_path, first, allowed=True)
        assert agent.told() == '"ordered tea"'
        kept = json.loads(document_of(tmp_path, first).read_text())["answer"]
        assert kept["allowed"] is True
        agent.asks("tea")  # the same call again
        edit(tmp_path, open_question(tmp_path), answer=kept)
        assert "no answer within" in agent.told()
    assert (tmp_path / "ordered").read_text() == "tea\n"


def test_an_edited_question_is_none_and_takes_no_answer(asked):
    agent, question, home = asked
    document = json.loads(document_of(home, question).read_text())
    document["asked"]["arguments"]["item"] = "a harmless thing"
    document_of(home, question).write_text(json.dumps(document))
    assert seen(home) == []
    with pytest.raises(InboxError, match="there is no such question"):
        answer(home, question, allowed=True)
    assert "no answer within" in agent.told()


def test_an_answer_to_what_was_shown_before_an_edit_is_for_that_alone(asked):
    """An answer, taken for an edited document by a program with the key, has the hash of the edited one."""
    agent, question, home = asked
    key = ApprovalKey.load(Home(home).state).for_purpose(INBOX_KEY)
    other = SignedAnswer.signed(key, "f" * 64, allowed=True, reason="", by="owner", at=1.0)
    edit(home, question, answer=other.model_dump())
    assert "no answer within" in agent.told()


def test_a_flipped_answer_is_none(asked):
    agent, question, home = asked
    answer(home, question, allowed=False)
    document = json.loads(document_of(home, question).read_text())
    if document["answer"] is not None:
        edit(home, question, answer={**document["answer"], "allowed": True})
    agent.told()
    assert not (home / "ordered").exists()


DAMAGED = ("", "[]", "{", '{"asked": 1}', '{"answer": {"allowed": true}}', "\x00", "[" * 9_000)


def test_a_damaged_document_disturbs_nobody(asked):
    agent, question, home = asked
    for text in DAMAGED:
        document_of(home, question).write_text(text)
        assert seen(home) == []
    assert "no answer within" in agent.told()


def test_a_deleted_document_is_no_answer(asked):
    agent, question, home = asked
    document_of(home, question).unlink()
    assert "no answer within" in agent.told()
