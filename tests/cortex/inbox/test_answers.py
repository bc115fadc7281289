"""Questions of agents that run in processes of their own, answered from shells."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from cortex.audit import Audit
from cortex.home import Home
from cortex.settings import AuditSettings
from neurons import KillSwitch

from .stage import CORTEX, ROOT, asking_agent, eventually, open_question, seen, shell, stop

MAIL = "ada@corp.example"


def decisions(home: Path) -> list[dict]:
    audit = Audit(Home(home).audit, AuditSettings())
    try:
        return [dict(record.facts) for record in audit.records() if record.kind == "owner_decision"]
    finally:
        audit.close()


def test_a_question_is_answered_from_another_shell_and_the_program_goes_on(tmp_path):
    with asking_agent(tmp_path) as agent:
        agent.asks("tea", note=f"for {MAIL}")
        question = open_question(tmp_path)
        listed = shell(tmp_path).stdout
        assert question.id[:8] in listed
        assert "shop.order" in listed
        shown = shell(tmp_path, "show", question.id[:6]).stdout
        assert 'item = "tea"' in shown
        assert MAIL not in shown
        assert "[EMAIL_1]" in shown
        assert f"hash:         {question.shown_hash}" in shown
        assert not (tmp_path / "ordered").exists()
        done = shell(tmp_path, "answer", question.id, "yes", "--hash", question.shown_hash[:12])
        assert (done.returncode, done.stdout) == (0, f"{question.id[:8]}: yes; shop.order may be called, this once\n")
        assert agent.told() == '"ordered tea"'
    assert (tmp_path / "ordered").read_text() == "tea\n"
    answered, call = decisions(tmp_path)
    assert (answered["what"], answered["by"], answered["question"]) == ("answer", "owner (inbox)", question.id)
    assert answered["shown_hash"] == question.shown_hash
    assert (call["what"], call["by"], call["allowed"]) == ("tool call", "owner (inbox)", True)
    assert call["arguments_hash"] == question.arguments_hash
    assert [(one.state, one.by) for one in seen(tmp_path)] == [("answered", "owner (inbox)")]
    assert shell(tmp_path).stdout == "No question waits for you\n"


def test_a_no_needs_no_hash_and_its_reason_reaches_the_model(tmp_path):
    with asking_agent(tmp_path) as agent:
        agent.asks("gold")
        question = open_question(tmp_path)
        done = shell(tmp_path, "answer", question.id, "no", "--reason", "too dear", "--json")
        assert json.loads(done.stdout)["allowed"] is False
        assert "said no: too dear" in agent.told()
    assert not (tmp_path / "ordered").exists()


def test_what_a_killed_program_asked_is_shown_as_that_and_takes_no_answer(tmp_path):
    with asking_agent(tmp_path) as agent:
        agent.asks("tea")
        question = open_question(tmp_path)
        agent.process.send_signal(signal.SIGKILL)
        agent.process.wait()
    [left] = seen(tmp_path)
    assert (left.state, left.told) == ("ended", "the program that asked has ended")
    assert "the program that asked has ended" in shell(tmp_path).stdout
    refused = shell(tmp_path, "answer", question.id, "yes", "--hash", question.shown_hash)
    assert refused.returncode == 3
    assert "cannot be answered: the program that asked has ended" in refused.stderr
    assert decisions(tmp_path) == []


def test_of_two_shells_that_answer_at_once_the_first_wins_and_the_second_says_so(tmp_path):
    with asking_agent(tmp_path) as agent:
        agent.asks("tea")
        question = open_question(tmp_path)
        words = ["--hash", question.shown_hash, "--home", str(tmp_path)]
        racing = [
            subprocess.Popen(
                [*CORTEX, "inbox", "answer", question.id, said, *words],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for said in ("yes", "no")
        ]
        told = [shell.communicate(timeout=30) for shell in racing]
        codes = [shell.returncode for shell in racing]
        agent.told()
    assert sorted(codes) == [0, 3]
    winner = ("yes", "no")[codes.index(0)]
    assert f"was answered: {winner}, by owner (inbox)" in told[codes.index(3)][1]
    assert (tmp_path / "ordered").exists() is (winner == "yes")
    assert [one["what"] for one in decisions(tmp_path)] == ["answer", "tool call"]


def test_a_question_that_nobody_answers_is_closed_when_its_time_is_over(tmp_path):
    with asking_agent(tmp_path, seconds=0.3) as agent:
        agent.asks("tea")
        assert "no answer within 0.3 s" in agent.told()
        [closed] = seen(tmp_path)
        assert (closed.state, closed.told) == ("expired", "nobody answered in time")
        assert shell(tmp_path).stdout == "No question waits for you\n"
        [listed] = json.loads(shell(tmp_path, "--all", "--json").stdout)
        assert listed["id"] == closed.id
        refused = shell(tmp_path, "answer", closed.id, "yes", "--hash", closed.shown_hash)
        assert "cannot be answered: nobody answered in time" in refused.stderr


def test_a_program_that_does_not_respond_takes_no_late_answer(tmp_path):
    with asking_agent(tmp_path, seconds=3) as agent:
        agent.asks("tea")
        open_question(tmp_path)
        stop(agent, tmp_path)
        late = eventually(lambda: [one for one in seen(tmp_path) if one.state == "late"])
        refused = shell(tmp_path, "answer", late[0].id, "yes", "--hash", late[0].shown_hash)
        assert "does not respond" in refused.stderr
        agent.process.send_signal(signal.SIGCONT)
        assert "no answer within" in agent.told()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--hash", "0" * 64], "the hash is not that of question"),
        (["--hash", "{hash:.7}"], "the hash is not that of question"),
        ([], "there is no terminal to show the question at"),
    ],
)
def test_a_yes_without_the_hash_of_what_was_shown_is_refused(tmp_path, words, told):
    with asking_agent(tmp_path) as agent:
        agent.asks("tea")
        question = open_question(tmp_path)
        given = [word.format(hash=question.shown_hash) for word in words]
        refused = shell(tmp_path, "answer", question.id, "yes", *given)
        assert refused.returncode == 3
        assert told in refused.stderr
        assert open_question(tmp_path).id == question.id
    assert decisions(tmp_path) == []


def test_no_such_question(tmp_path):
    assert '"0000": there is no such question' in shell(tmp_path, "show", "0000").stderr
    assert '"000": write at least 4 characters of the id of a question' in shell(tmp_path, "show", "000").stderr
    assert shell(tmp_path, "--json").stdout == "[]\n"
    assert not (tmp_path / "state").exists(), "looking creates nothing"


def test_while_the_kill_switch_is_on_nothing_is_allowed_and_no_is_still_taken(tmp_path):
    with asking_agent(tmp_path) as agent:
        agent.asks("tea")
        question = open_question(tmp_path)
        switch = KillSwitch(Home(tmp_path).state)
        switch.turn_on("enough", "owner")
        refused = shell(tmp_path, "answer", question.id, "yes", "--hash", question.shown_hash)
        assert refused.returncode == 3
        assert "nothing can be allowed now. Kill switch is on" in refused.stderr
        assert open_question(tmp_path).id == question.id
        assert shell(tmp_path, "answer", question.id, "no").returncode == 0
        assert agent.told().startswith("EXECUTION_DENIED: ")
    assert not (tmp_path / "ordered").exists()


def test_a_yes_from_before_the_kill_switch_does_nothing_after_it(tmp_path):
    """The program has not heard it yet: it stood still."""
    with asking_agent(tmp_path) as agent:
        agent.asks("tea")
        question = open_question(tmp_path)
        stop(agent, tmp_path)
        try:
            assert shell(tmp_path, "answer", question.id, "yes", "--hash", question.shown_hash).returncode == 0
            KillSwitch(Home(tmp_path).state).turn_on("enough", "owner")
        finally:
            os.kill(agent.process.pid, signal.SIGCONT)
        assert "Kill switch is on" in agent.told()
    assert not (tmp_path / "ordered").exists()
