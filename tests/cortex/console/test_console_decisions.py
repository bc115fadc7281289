"""Decisions in the console, through forms over a real socket: what each needs, what it does, and what the audit has of it."""

from __future__ import annotations

import json
import sys
import time
from subprocess import Popen

import pytest

from cortex.console import Guards, ask
from neurons import KillSwitch, Status
from sandbox import Running

from .agent import Agent
from .served import audit_facts, served


@pytest.fixture
def agent(tmp_path):
    found = Agent(tmp_path / "home")
    yield found
    found.close()


@pytest.fixture
def console(agent):
    with served(agent.home) as found:
        yield found


def decisions(home) -> list[dict]:
    return [one for one in audit_facts(home) if one["kind"] == "owner_decision"]


def hash_of(neuron) -> str:
    return neuron.request.shown_hash[:8]


def test_a_neuron_is_approved_with_its_hash_and_the_code_of_the_terminal(agent, console):
    neuron, owner = agent.waiting(), console.log_in()
    page = owner.get(f"/neurons/{neuron.id}").text
    assert neuron.request.shown_hash in page
    reply = owner.decide(f"/neurons/{neuron.id}/approve", f"hash={hash_of(neuron)}")
    assert reply.status == 200
    assert "on trial" in reply.text
    assert agent.status(neuron) is Status.TRIAL
    [decision] = decisions(agent.home)
    assert (decision["what"], decision["by"]) == ("neuron approve", "owner (console)")
    assert decision["session"] == owner.session.id
    assert console.codes[0].code not in page


def test_nothing_dangerous_is_done_without_its_code(agent, console):
    neuron, owner = agent.waiting(), console.log_in()
    KillSwitch(agent.home / "state").turn_on("a test", "owner")
    for path, form in (
        (f"/neurons/{neuron.id}/approve", f"hash={hash_of(neuron)}"),
        (f"/neurons/{neuron.id}/modify", "code=return 1"),
        ("/revive", "reason=it is safe"),
    ):
        asked = owner.post(path, form)
        assert asked.status == 303
        confirm = asked.header("location")
        shown = owner.get(confirm).text
        assert console.codes[-1].code not in shown
        assert owner.post(confirm, "").status == 403
    assert agent.status(neuron) is Status.AWAITING_OWNER
    assert KillSwitch(agent.home / "state").refusal() is not None
    assert [one for one in decisions(agent.home) if one["by"] != "owner"] == []


def test_without_the_need_of_a_code_a_page_could_approve(agent):
    with served(agent.home, Guards(needs_code=False)) as found:
        neuron, owner = agent.waiting(), found.log_in()
        assert owner.post(f"/neurons/{neuron.id}/approve", f"hash={hash_of(neuron)}").status == 200
        assert agent.status(neuron) is Status.TRIAL


def test_an_approval_with_a_wrong_short_or_other_hash_does_nothing(agent, console):
    first, second, owner = agent.waiting(), agent.waiting("Other one"), console.log_in()
    path = f"/neurons/{first.id}/approve"
    assert owner.post(path, f"hash={hash_of(first)[:7]}").status == 409
    assert owner.post(path, "").status == 409
    assert owner.decide(path, f"hash={hash_of(second)}").status == 409
    assert owner.decide(path, "hash=00000000").status == 409
    assert owner.decide("/neurons/nothing/approve", "hash=00000000").status == 409
    assert {agent.status(first), agent.status(second)} == {Status.AWAITING_OWNER}


def test_a_document_that_changed_after_it_was_shown_is_not_approved(agent, console):
    neuron, owner = agent.waiting(), console.log_in()
    asked = owner.post(f"/neurons/{neuron.id}/approve", f"hash={hash_of(neuron)}")
    path = agent.home / "state" / "neurons" / f"{neuron.id}.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps({**document, "code": "return 2"}))
    reply = owner.post(asked.header("location"), f"code={console.codes[-1].code}")
    assert reply.status == 409
    assert "changed by hand" in reply.text
    assert agent.status(neuron) is Status.QUARANTINE


def test_a_proposal_that_has_expired_is_not_approved(agent, console):
    agent.governed.clock.at = time.time() - 8 * 86_400
    neuron, owner = agent.waiting(), console.log_in()
    assert neuron.request.expires_at < time.time()
    reply = owner.decide(f"/neurons/{neuron.id}/approve", f"hash={hash_of(neuron)}")
    assert reply.status == 409
    assert agent.status(neuron) is not Status.TRIAL
    assert 'title="waiting for you"' not in owner.get("/").text


def test_a_code_of_another_decision_or_a_used_one_decides_nothing(agent, console):
    first, second, owner = agent.waiting(), agent.waiting("Other one"), console.log_in()
    asked = [owner.post(f"/neurons/{one.id}/approve", f"hash={hash_of(one)}") for one in (first, second)]
    places = [one.header("location") for one in asked]
    codes = [one.code for one in console.codes]
    if codes[0] != codes[1]:
        assert owner.post(places[1], f"code={codes[0]}").status == 403
    assert owner.post(places[0], f"code={codes[0]}").status == 200
    assert owner.post(places[0], f"code={codes[0]}").status == 409
    assert agent.status(second) is Status.AWAITING_OWNER
    # Two tabs at once: the second one finds the decision made.
    other = console.log_in()
    assert other.post(places[1], f"code={codes[1]}").status == 409


def test_the_fifth_wrong_code_ends_the_session(agent, console):
    neuron, owner = agent.waiting(), console.log_in()
    place = owner.post(f"/neurons/{neuron.id}/approve", f"hash={hash_of(neuron)}").header("location")
    token, wrong = owner.session.csrf, f"{(int(console.codes[0].code) + 1) % 10**6:06}"
    answers = [owner.post(place, f"code={wrong}", csrf=token) for _ in range(5)]
    assert [one.status for one in answers] == [403, 403, 403, 403, 303]
    assert owner.get("/").status == 401
    assert agent.status(neuron) is Status.AWAITING_OWNER


def test_an_approval_after_a_kill_is_refused_or_runs_nothing(agent, console):
    neuron, owner = agent.waiting(), console.log_in()
    asked = owner.post(f"/neurons/{neuron.id}/approve", f"hash={hash_of(neuron)}")
    assert owner.post("/kill").status == 200
    owner.post(asked.header("location"), f"code={console.codes[-1].code}")
    assert KillSwitch(agent.home / "state").refusal(neuron.id) is not None


def test_nothing_is_decided_that_cannot_be_recorded(agent, console):
    neuron, owner = agent.waiting(), console.log_in()
    audit = agent.home / "audit"
    for path in audit.iterdir():
        if path.is_file() or path.is_symlink():
            path.unlink()
    audit.rmdir() if not list(audit.iterdir()) else None
    broken = agent.home / "audit"
    if broken.exists():
        broken.rename(agent.home / "audit-old")
    broken.write_text("a file stands here")
    reply = owner.decide(f"/neurons/{neuron.id}/approve", f"hash={hash_of(neuron)}")
    assert reply.status >= 400
    assert agent.status(neuron) is Status.AWAITING_OWNER
    # The safe direction works all the same.
    killed = owner.post("/kill")
    assert killed.status == 200
    assert "not in the audit" in killed.text
    assert KillSwitch(agent.home / "state").refusal() is not None


def test_a_neuron_is_rejected_and_disabled_without_a_code(agent, console):
    first, second, owner = agent.waiting(), agent.waiting("Other one"), console.log_in()
    assert owner.post(f"/neurons/{first.id}/reject", "reason=not useful").status == 200
    assert owner.post(f"/neurons/{second.id}/disable", "reason=later").status == 200
    assert agent.status(first) is agent.status(second) is Status.DISABLED
    assert console.codes == []
    assert [one["reason"] for one in decisions(agent.home)] == ["not useful", "later"]
    assert "not useful" in owner.get(f"/neurons/{first.id}").text


def test_a_neuron_is_rolled_back_enabled_and_given_other_code(agent, console):
    neuron, owner = agent.waiting(), console.log_in()
    owner.decide(f"/neurons/{neuron.id}/approve", f"hash={hash_of(neuron)}")
    assert owner.post(f"/neurons/{neuron.id}/disable", "").status == 200
    assert owner.decide(f"/neurons/{neuron.id}/enable").status == 200
    assert agent.status(neuron) is Status.TRIAL
    assert owner.decide(f"/neurons/{neuron.id}/modify", "code=return%202").status == 200
    changed = agent.governed.restarted().store.get(neuron.id)
    assert (changed.code, changed.version, changed.status) == ("return 2", 2, Status.QUARANTINE)
    page = owner.get(f"/neurons/{neuron.id}").text
    assert "Changed since version 1" in page
    assert owner.decide(f"/neurons/{neuron.id}/rollback", "version=1").status == 200
    assert agent.status(neuron) is Status.TRIAL
    assert owner.decide(f"/neurons/{neuron.id}/rollback", "version=x").status == 409


def test_a_kill_stops_processes_and_says_which_on_a_page_that_reads_nothing_else(agent, console):
    owner = console.log_in()
    switch = KillSwitch(agent.home / "state")
    running = Running(switch.running, switch.refusal)
    with Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True) as process:
        try:
            running.note(process.pid)
            reply = owner.post("/kill", "reason=it went wild")
            assert reply.status == 200
            assert process.wait(10) != 0
            assert str(process.pid) in reply.text
        finally:
            process.kill()
    assert [one["what"] for one in decisions(agent.home)] == ["kill"]
    assert decisions(agent.home)[0]["session"] == owner.session.id


def test_a_kill_is_answered_while_every_page_is_broken(agent, console):
    """A ledger of rubbish, an audit that is a file, neurons that are none: the owner must not think that it failed."""
    owner, state = console.log_in(), agent.home / "state"
    (state / "energy-ledger.jsonl").write_bytes(b"\0" * 5_000)
    (state / "energy.json").write_bytes(b"rubbish")
    (state / "neurons").mkdir(exist_ok=True)
    (state / "neurons" / "x.json").write_bytes(b"[")
    (agent.home / "mcp.json").write_bytes(b"[")
    (agent.home / "audit").rename(agent.home / "away")
    (agent.home / "audit").write_bytes(b"")
    reply = owner.post("/kill")
    assert reply.status == 200
    assert "Everything is stopped" in reply.text
    for path in ("/", "/neurons", "/servers", "/settings", "/audit"):
        page = owner.get(path)
        assert page.status in {200, 404, 500}
        assert "The kill switch is on" in page.text


def test_one_neuron_is_killed_and_revived(agent, console):
    neuron, owner = agent.waiting(), console.log_in()
    switch = KillSwitch(agent.home / "state")
    assert owner.post(f"/neurons/{neuron.id}/kill").status == 200
    assert switch.refusal(neuron.id) is not None
    assert switch.refusal() is None
    assert owner.post(f"/neurons/{neuron.id}/revive").status == 409  # without a reason
    assert owner.decide(f"/neurons/{neuron.id}/revive", "reason=it is safe").status == 200
    assert KillSwitch(agent.home / "state").refusal(neuron.id) is None
    assert [one["what"] for one in decisions(agent.home)] == [f"kill {neuron.id}", f"revive {neuron.id}"]


def test_energy_is_added_with_a_code_and_recorded(agent, console):
    owner = console.log_in()
    for amount in ("0", "-1", "2", "x", "nan", "inf", ""):
        assert owner.post("/energy", f"amount={amount}").status == 409
    assert owner.decide("/energy", "amount=0.5").status == 200
    [decision] = decisions(agent.home)
    assert (decision["what"], decision["by"], decision["session"]) == (
        "energy top-up",
        "owner (console)",
        owner.session.id,
    )


def test_a_command_of_the_same_user_reads_the_codes(agent, console):
    owner = console.log_in()
    owner.post("/energy", "amount=0.5")
    [told] = ask(agent.home / "state", "codes")["codes"]
    assert told["code"] == console.codes[0].code
    assert "add 0.5 to the energy" in told["what"]
