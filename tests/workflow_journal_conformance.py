"""What every `Journal` of workflows must do. A further adapter runs this suite as it is.

Subclass it in a test module and override the fixture `another`, which opens the same empty journal once more, as another
process would, and `preamble`, the beginning of a program that opens it in another process and calls it `journal`:

    class TestJournalInSqlite(JournalConformance): ...

An adapter that lives in one process leaves `preamble` at None; the tests that need other processes are skipped then.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from cortex.workflows import (
    Claim,
    DecisionRow,
    Fenced,
    Journal,
    JournalError,
    NewEvent,
    NoSuchRun,
    Plan,
    RunRow,
    Saved,
    TaskRow,
    checked,
)

NOW = 1_700_000_000.0
LEASE_S = 10.0
BOUND_S = 120
COMMON = """
from cortex.workflows import *
from tests.workflow_journal_conformance import *
"""


def plan(*ids: str) -> Plan:
    tasks = [{"id": id_, "type": "mcp_tool", "tool": "echo"} for id_ in ids or ("a", "b")]
    return checked({"name": "a plan", "tasks": tasks})


def run(id_: str = "r1", **fields: Any) -> RunRow:
    fields.setdefault("plan", plan())
    return RunRow(id=id_, plan_hash=fields["plan"].hash, at=fields.pop("at", NOW), **fields)


def event(kind: str = "task_started", **data: Any) -> NewEvent:
    return NewEvent(kind, data, NOW)


def question(task: str = "ask", text: str = "Post it?", **fields: Any) -> DecisionRow:
    return DecisionRow(task, "owner", text, f"hash of {text}", NOW, **fields)


def led(journal: Journal, id_: str = "r1", worker: str = "w1", now: float = NOW, **fields: Any) -> Claim:
    """A new run, and the lead of it."""
    journal.begin(run(id_, **fields), [])
    claim = journal.claim(id_, worker, LEASE_S, now)
    assert claim is not None
    return claim


class OtherProcesses:
    """Programs that use the same journal in processes of their own."""

    def __init__(self, preamble: str) -> None:
        self._preamble = preamble
        self._running: list[subprocess.Popen[str]] = []

    def start(self, program: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", f"{COMMON}\n{self._preamble}\n{program}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._running.append(process)
        return process

    def end(self) -> None:
        for process in self._running:
            process.kill()
            process.communicate(timeout=BOUND_S)


class JournalConformance:
    @pytest.fixture
    def another(self) -> Callable[[], Journal]:
        raise NotImplementedError

    @pytest.fixture
    def preamble(self) -> str | None:
        return None

    @pytest.fixture
    def journal(self, another: Callable[[], Journal]) -> Iterator[Journal]:
        opened = another()
        yield opened
        opened.close()

    @pytest.fixture
    def elsewhere(self, preamble: str | None) -> Iterator[OtherProcesses]:
        if preamble is None:
            pytest.skip("this adapter lives in one process")
        processes = OtherProcesses(preamble)
        yield processes
        processes.end()

    # Runs

    def test_a_run_is_kept_as_it_was_begun(self, journal, another):
        whole = run(started_by="agent", turn="t1", parent="r0", energy_budget=0.5)
        begun = journal.begin(whole, [event("run_started", by="agent")])
        assert begun == whole
        state = another().load("r1")
        assert (state.run, state.tasks, state.decisions) == (whole, {}, {})
        assert [(found.seq, found.kind, found.data) for found in journal.events("r1")] == [
            (1, "run_started", {"by": "agent"})
        ]

    def test_a_run_that_is_begun_again_with_its_plan_is_the_one_that_there_is(self, journal):
        claim = led(journal)
        journal.save(claim, Saved(tasks=[TaskRow("a", "ok", result=1)], events=[event()]), NOW)
        again = journal.begin(run(at=NOW + 9), [event("run_started")])
        assert (again.epoch, again.worker, again.at) == (1, "w1", NOW)
        assert journal.load("r1").tasks["a"].result == 1
        assert len(journal.events("r1")) == 1

    def test_a_run_that_was_replanned_is_found_with_the_plan_that_it_began_with_and_with_its_new_one(self, journal):
        claim = led(journal)
        journal.save(claim, Saved(plan=plan("a", "b", "c")), NOW)
        for known in (plan(), plan("a", "b", "c")):
            found = journal.begin(run(plan=known), [])
            assert (found.revision, found.plan_hash) == (2, plan("a", "b", "c").hash)

    def test_a_run_cannot_be_begun_again_with_another_plan(self, journal):
        journal.begin(run(), [])
        with pytest.raises(JournalError, match='run "r1" already, with another plan'):
            journal.begin(run(plan=plan("x")), [event()])
        assert journal.load("r1").run.plan == plan()
        assert journal.events("r1") == []

    @pytest.mark.parametrize("id_", ["", "x" * 201, "a\nb", "\ud800", "\0"])
    def test_a_text_that_can_be_no_id_is_refused(self, journal, id_):
        with pytest.raises(JournalError, match="id of a run"):
            journal.begin(run(id_), [])

    @pytest.mark.parametrize("id_", ["../../x", "r 1", "é", "'; drop table run; --", "__proto__"])
    def test_an_id_means_nothing_but_itself(self, journal, id_):
        journal.begin(run(id_), [])
        journal.begin(run("other"), [])
        assert journal.load(id_).run.id == id_
        assert {row.id for row in journal.list()} == {id_, "other"}

    def test_a_run_that_is_not_there_is_said_to_be_none(self, journal):
        claim = Claim("r9", "w1", 1, NOW)
        for ask in (
            lambda: journal.load("r9"),
            lambda: journal.events("r9"),
            lambda: journal.claim("r9", "w1", LEASE_S, NOW),
            lambda: journal.renew(claim, LEASE_S, NOW),
            lambda: journal.release(claim),
            lambda: journal.save(claim, Saved(), NOW),
            lambda: journal.stop("r9", "why", by="owner", now=NOW),
            lambda: journal.answer("r9", "a", {}, shown_hash="h", by="owner", now=NOW),
        ):
            with pytest.raises(NoSuchRun, match='no run "r9"'):
                ask()

    def test_runs_are_listed_the_newest_first_and_by_status(self, journal):
        for number in range(5):
            journal.begin(run(f"r{number}", at=NOW + number % 3), [])
        journal.stop("r2", "enough", by="owner", now=NOW)
        assert [row.id for row in journal.list()] == ["r2", "r4", "r1", "r3", "r0"]
        assert [row.id for row in journal.list(limit=2)] == ["r2", "r4"]
        assert journal.list(limit=0) == []
        assert [row.id for row in journal.list(status="aborted")] == ["r2"]
        assert journal.list()[0].plan == plan()

    # The lead

    def test_one_worker_leads_and_another_may_when_the_lease_has_ended(self, journal, another):
        first = led(journal)
        other = another()
        assert (first.epoch, first.lease_until) == (1, NOW + LEASE_S)
        assert other.claim("r1", "w2", LEASE_S, NOW + LEASE_S - 0.001) is None
        second = other.claim("r1", "w2", LEASE_S, NOW + LEASE_S)
        assert (second.worker, second.epoch) == ("w2", 2)
        assert journal.load("r1").run.worker == "w2"

    def test_a_leader_whom_another_has_followed_writes_nothing_more(self, journal, another):
        first = led(journal)
        second = another().claim("r1", "w2", LEASE_S, NOW + LEASE_S)
        before = journal.load("r1")
        step = Saved(tasks=[TaskRow("a", "ok", result=1)], events=[event()], status="done", energy_spent=1.0)
        with pytest.raises(Fenced, match="does not lead"):
            journal.save(first, step, NOW)
        with pytest.raises(Fenced, match="does not lead"):
            journal.renew(first, LEASE_S, NOW)
        journal.release(first)
        assert journal.load("r1") == before
        assert journal.events("r1") == []
        another().save(second, step, NOW)

    def test_a_worker_that_claims_again_fences_its_own_earlier_claim(self, journal):
        first = led(journal)
        second = journal.claim("r1", "w1", LEASE_S, NOW + 1)
        assert (second.epoch, second.lease_until) == (2, NOW + 1 + LEASE_S)
        with pytest.raises(Fenced):
            journal.save(first, Saved(), NOW)
        journal.save(second, Saved(), NOW)

    def test_a_lease_is_lengthened_as_long_as_no_other_worker_has_claimed(self, journal, another):
        claim = journal.renew(led(journal), LEASE_S, NOW + 9)
        assert another().claim("r1", "w2", LEASE_S, NOW + 18) is None
        late = journal.renew(claim, LEASE_S, NOW + 100)
        assert late.lease_until == NOW + 100 + LEASE_S
        assert late.epoch == claim.epoch == 1

    def test_a_lead_that_was_given_up_is_free_at_once_and_writes_nothing_more(self, journal, another):
        claim = led(journal)
        journal.release(claim)
        with pytest.raises(Fenced):
            journal.save(claim, Saved(), NOW)
        with pytest.raises(Fenced):
            journal.renew(claim, LEASE_S, NOW)
        assert another().claim("r1", "w2", LEASE_S, NOW).epoch == 2

    @pytest.mark.parametrize("lease_s", [0, -1, float("nan"), float("inf")])
    def test_a_lease_has_an_end(self, journal, lease_s):
        journal.begin(run(), [])
        with pytest.raises(ValueError, match="lease"):
            journal.claim("r1", "w1", lease_s, NOW)

    def test_of_many_that_claim_at_once_one_leads(self, journal, another):
        journal.begin(run(), [])
        ready = threading.Barrier(4)

        def claim(worker: str) -> Claim | None:
            opened = another()
            ready.wait(BOUND_S)
            return opened.claim("r1", worker, LEASE_S, NOW)

        with ThreadPoolExecutor(4) as pool:
            claims = [done.result(BOUND_S) for done in [pool.submit(claim, f"w{n}") for n in range(4)]]
        assert sum(claim is not None for claim in claims) == 1

    def test_of_two_processes_that_claim_one_leads(self, journal, elsewhere):
        for number in range(5):
            journal.begin(run(f"r{number}"), [])
        program = """
            print("ready", flush=True)
            input()
            for number in range(5):
                print("leads" if journal.claim(f"r{number}", WORKER, LEASE_S, NOW) else "does not", flush=True)
        """
        both = [elsewhere.start(f"WORKER = 'w{n}'\n" + clean(program)) for n in range(2)]
        for process in both:
            assert process.stdout.readline() == "ready\n"
        for process in both:
            process.stdin.write("go\n")
            process.stdin.flush()
        one, other = ([process.stdout.readline().strip() for _ in range(5)] for process in both)
        assert [sorted(pair) for pair in zip(one, other, strict=True)] == [["does not", "leads"]] * 5

    # Steps

    def test_a_step_is_kept_with_all_its_parts(self, journal, another):
        claim = led(journal)
        tasks = [
            TaskRow("a", "ok", 1, "h1", {"x": [1, None, "é\ud800"]}, None, {"ms": 3}, 0.05, "c0de", NOW, NOW + 1),
            TaskRow("b", "failed", 2, "h2", None, {"code": "boom"}, {}, 0.1, "", NOW, NOW + 2),
        ]
        step = Saved(
            tasks, [question()], [event(), event("run_waiting")], "waiting", "why", NOW + 60, energy_spent=0.25
        )
        added = journal.save(claim, step, NOW)
        assert [(found.seq, found.kind) for found in added] == [(1, "task_started"), (2, "run_waiting")]
        state = another().load("r1")
        assert state.tasks == {"a": tasks[0], "b": tasks[1]}
        assert state.decisions == {"ask": question()}
        row = state.run
        assert (row.status, row.reason, row.wake_at, row.energy_spent) == ("waiting", "why", NOW + 60, 0.25)
        assert list(journal.events("r1")) == list(added)
        journal.save(claim, Saved(status="running", energy_spent=0.5), NOW)
        row = journal.load("r1").run
        assert (row.status, row.reason, row.wake_at, row.energy_spent) == ("running", "", None, 0.75)

    def test_a_step_without_a_status_leaves_status_reason_and_time(self, journal):
        claim = led(journal)
        journal.save(claim, Saved(status="resting", reason="no energy", wake_at=NOW + 5), NOW)
        journal.save(claim, Saved(events=[event()]), NOW)
        row = journal.load("r1").run
        assert (row.status, row.reason, row.wake_at) == ("resting", "no energy", NOW + 5)

    def test_a_step_that_cannot_be_kept_whole_is_not_kept_at_all(self, journal):
        claim = led(journal)
        before = journal.load("r1")
        for part in (
            {"events": [event(), event(what=object())]},
            {"tasks": [TaskRow("a", "ok", result=1), TaskRow("b", "ok", result=float("nan"))]},
            {"tasks": [TaskRow("a", "ok", result=1), TaskRow("b", "ok", result=deep(5_000))]},
            {"tasks": [TaskRow("a", "ok", result=1), TaskRow("b", "ok", result=[[]] * 300_000)]},
            {"tasks": [TaskRow("a", "ok", result=1), TaskRow("a", "failed")]},
        ):
            with pytest.raises(JournalError):
                journal.save(claim, Saved(**{"status": "done", "energy_spent": 1.0, **part}), NOW)
            assert journal.load("r1") == before
            assert journal.events("r1") == []
        for energy in (-1.0, float("nan")):
            with pytest.raises(ValueError, match="energy"):
                journal.save(claim, Saved(status="done", energy_spent=energy), NOW)
        assert journal.load("r1") == before

    def test_a_result_that_is_saved_is_never_changed_and_its_task_not_begun_again(self, journal):
        claim = led(journal)
        done = TaskRow("a", "ok", result={"n": 1}, started_at=NOW)
        journal.save(claim, Saved(tasks=[TaskRow("a", "running", started_at=NOW)]), NOW)
        journal.save(claim, Saved(tasks=[done]), NOW)
        journal.save(claim, Saved(tasks=[done]), NOW)  # the same again
        for other in (
            TaskRow("a", "ok", result={"n": 2}, started_at=NOW),
            TaskRow("a", "running"),
            TaskRow("a", "running", attempt=2),
            TaskRow("a", "unknown", attempt=2),
        ):
            with pytest.raises(JournalError, match='at task "a" cannot be saved'):
                journal.save(claim, Saved(tasks=[other]), NOW)
        assert journal.load("r1").tasks == {"a": done}

    def test_the_last_attempt_counts_and_a_failed_one_can_be_followed(self, journal):
        claim = led(journal)
        for task in (
            TaskRow("a", "running"),
            TaskRow("a", "failed", error={"code": "x"}),
            TaskRow("a", "running", attempt=2),
            TaskRow("a", "unknown", attempt=2),
            TaskRow("a", "ok", attempt=2, result="taken as done"),
        ):
            journal.save(claim, Saved(tasks=[task]), NOW)
            assert journal.load("r1").tasks == {"a": task}
        with pytest.raises(JournalError):
            journal.save(claim, Saved(tasks=[TaskRow("b", "running", attempt=0)]), NOW)

    @pytest.mark.parametrize("size", [1_048_574, 1_048_575, 5_000_000])
    def test_a_result_of_a_megabyte_and_more_is_kept(self, journal, another, size):
        claim = led(journal)
        journal.save(
            claim, Saved(tasks=[TaskRow("a", "ok", result="x" * size), TaskRow("b", "ok", result="x" * size)]), NOW
        )
        found = another().load("r1").tasks
        assert found["a"].result == found["b"].result == "x" * size

    def test_a_result_that_is_too_large_is_refused_and_the_run_can_go_on(self, journal):
        claim = led(journal)
        with pytest.raises(JournalError, match=r'the result of task "a" cannot be saved: it has \d+ bytes'):
            journal.save(claim, Saved(tasks=[TaskRow("a", "ok", result="x" * 17_000_000)]), NOW)
        journal.save(claim, Saved(tasks=[TaskRow("a", "failed", error={"code": "too large"})]), NOW)

    def test_what_a_reader_was_given_is_its_own(self, journal):
        claim = led(journal)
        given = {"n": [1]}
        journal.save(claim, Saved(tasks=[TaskRow("a", "ok", result=given)], events=[event(n=given)]), NOW)
        given["n"].append(2)
        journal.load("r1").tasks["a"].result["n"].append(3)
        journal.events("r1")[0].data["n"]["n"].append(3)
        assert journal.load("r1").tasks["a"].result == {"n": [1]}
        assert journal.events("r1")[0].data == {"n": {"n": [1]}}

    def test_what_was_saved_is_there_after_kill_9_and_a_step_is_never_there_in_part(self, journal, elsewhere):
        """The writer is killed at any moment; each of its steps has a task, a question, two events and energy."""
        led(journal, "r0")
        program = """
            journal.begin(run(RUN), [])
            claim = journal.claim(RUN, "w1", LEASE_S, NOW)
            for n in range(1, 10_000):
                size = 1_200_000 if n % 5 == 0 else 10
                step = Saved([TaskRow(f"t{n}", "ok", result="x" * size)], [question(f"q{n}")], [event(n=n), event(n=n)],
                    energy_spent=1.0)
                journal.save(claim, step, NOW)
                print(n, flush=True)
        """
        for number in range(1, 7):
            id_ = f"r{number}"
            process = elsewhere.start(f"RUN = {id_!r}\n" + clean(program))
            for _ in range(number * 2):
                process.stdout.readline()
            process.kill()
            told, _ = process.communicate(timeout=BOUND_S)
            told = max([number * 2, *(int(line) for line in told.splitlines())])
            state = journal.load(id_)
            there = len(state.tasks)
            assert told <= there <= told + 1
            assert {*state.tasks} == {f"t{n}" for n in range(1, there + 1)}
            assert {*state.decisions} == {f"q{n}" for n in range(1, there + 1)}
            assert state.run.energy_spent == there
            found = journal.events(id_)
            assert [(row.seq, row.data["n"]) for row in found] == [(n + 1, n // 2 + 1) for n in range(2 * there)]
            # The lead of the dead process ends with its lease, and the next one writes on.
            claim = journal.claim(id_, "w2", LEASE_S, NOW + LEASE_S)
            journal.save(claim, Saved(tasks=[TaskRow("t99999", "ok")]), NOW)

    # Events

    def test_events_are_numbered_for_each_run_and_read_in_pieces(self, journal):
        claims = [led(journal, id_) for id_ in ("r1", "r2")]
        for n in range(5):
            for claim in claims:
                journal.save(claim, Saved(events=[event(n=n)]), NOW)
        assert [row.seq for row in journal.events("r1")] == [1, 2, 3, 4, 5]
        assert [row.data["n"] for row in journal.events("r2", after=2, limit=2)] == [2, 3]
        assert journal.events("r1", after=5) == []
        assert journal.events("r1", limit=0) == []

    def test_a_reader_sees_each_event_once_and_in_order_while_another_process_writes(self, journal, elsewhere):
        journal.begin(run(), [])
        program = """
            claim = journal.claim("r1", "w1", LEASE_S, NOW)
            for n in range(60):
                journal.save(claim, Saved(events=[event(n=2 * n), event(n=2 * n + 1)]), NOW)
            journal.save(claim, Saved(status="done", events=[event("run_done")]), NOW)
            print("done", flush=True)
        """
        process = elsewhere.start(clean(program))
        seen: list[Any] = []
        while not seen or seen[-1].kind != "run_done":
            assert process.poll() in (None, 0)
            found = journal.events("r1", after=len(seen), limit=7)
            assert [row.seq for row in found] == list(range(len(seen) + 1, len(seen) + 1 + len(found)))
            seen += found
        assert [row.data["n"] for row in seen[:-1]] == list(range(120))

    # Questions

    def test_the_first_answer_counts(self, journal, another):
        claim = led(journal)
        journal.save(claim, Saved(decisions=[question()], status="waiting"), NOW)
        assert another().answer("r1", "ask", {"answer": "approve"}, shown_hash="hash of Post it?", by="owner", now=NOW)
        assert not journal.answer("r1", "ask", {"answer": "reject"}, shown_hash="hash of Post it?", by="x", now=NOW + 1)
        found = another().load("r1").decisions["ask"]
        assert found == question(said={"answer": "approve"}, by="owner", answered_at=NOW)

    def test_of_many_that_answer_at_once_one_is_heard(self, journal, another):
        journal.save(led(journal), Saved(decisions=[question()], status="waiting"), NOW)
        ready = threading.Barrier(4)

        def answer(by: str) -> bool:
            opened = another()
            ready.wait(BOUND_S)
            return opened.answer("r1", "ask", {"answer": "value"}, shown_hash="hash of Post it?", by=by, now=NOW)

        with ThreadPoolExecutor(4) as pool:
            heard = {by: pool.submit(answer, by) for by in "abcd"}
        [winner] = [by for by, done in heard.items() if done.result(BOUND_S)]
        assert journal.load("r1").decisions["ask"].by == winner

    def test_an_answer_to_something_else_than_what_was_shown_is_refused(self, journal):
        claim = led(journal)
        journal.save(claim, Saved(decisions=[question()], status="waiting"), NOW)
        with pytest.raises(JournalError, match="shows something else"):
            journal.answer("r1", "ask", {"answer": "approve"}, shown_hash="other", by="owner", now=NOW)
        with pytest.raises(JournalError, match='asked nothing about task "b"'):
            journal.answer("r1", "b", {"answer": "approve"}, shown_hash="other", by="owner", now=NOW)
        assert journal.load("r1").decisions["ask"].said is None

    def test_a_question_that_is_asked_again_keeps_its_answer_and_another_one_needs_its_own(self, journal):
        claim = led(journal)
        journal.save(claim, Saved(decisions=[question()]), NOW)
        journal.answer("r1", "ask", {"answer": "approve"}, shown_hash="hash of Post it?", by="owner", now=NOW)
        journal.save(claim, Saved(decisions=[question()]), NOW)
        assert journal.load("r1").decisions["ask"].said == {"answer": "approve"}
        journal.save(claim, Saved(decisions=[question(text="And now?")]), NOW)
        assert journal.load("r1").decisions["ask"] == question(text="And now?")
        with pytest.raises(JournalError, match="shows something else"):
            journal.answer("r1", "ask", {"answer": "approve"}, shown_hash="hash of Post it?", by="owner", now=NOW)
        assert journal.answer("r1", "ask", {"answer": "reject"}, shown_hash="hash of And now?", by="owner", now=NOW)

    def test_an_answer_survives_the_death_of_the_process_that_gave_it(self, journal, elsewhere):
        journal.save(led(journal), Saved(decisions=[question()], status="waiting"), NOW)
        program = (
            "print(journal.answer('r1', 'ask', {'answer': 'approve'}, shown_hash='hash of Post it?', by='owner', "
            "now=NOW), flush=True)\ninput()"
        )
        process = elsewhere.start(program)
        assert process.stdout.readline() == "True\n"
        process.kill()
        assert journal.load("r1").decisions["ask"].said == {"answer": "approve"}

    # Ends

    def test_a_stopped_run_is_aborted_and_its_leader_writes_nothing_more(self, journal, another):
        claim = led(journal)
        journal.save(claim, Saved(status="running", events=[event()]), NOW)
        [told] = another().stop("r1", "enough", by="owner", now=NOW + 1)
        assert (told.seq, told.kind, told.data) == (2, "run_aborted", {"reason": "enough", "by": "owner"})
        row = journal.load("r1").run
        assert (row.status, row.reason, row.ended_at, row.worker) == ("aborted", "enough", NOW + 1, "")
        with pytest.raises(Fenced, match="has ended"):
            journal.save(claim, Saved(tasks=[TaskRow("a", "ok")]), NOW)
        with pytest.raises(Fenced, match="has ended"):
            journal.renew(claim, LEASE_S, NOW)
        assert journal.load("r1").tasks == {}

    @pytest.mark.parametrize("status", ["done", "failed", "aborted"])
    def test_a_run_that_has_ended_never_changes(self, journal, status):
        claim = led(journal)
        journal.save(claim, Saved(tasks=[TaskRow("a", "running")], decisions=[question()], events=[event()]), NOW)
        journal.save(claim, Saved(status=status, reason="so it is", wake_at=NOW), NOW + 3)
        before, told = journal.load("r1"), journal.events("r1")
        assert (before.run.status, before.run.ended_at, before.run.wake_at) == (status, NOW + 3, None)
        assert journal.claim("r1", "w2", LEASE_S, NOW + 1_000) is None
        assert journal.claim("r1", "w1", LEASE_S, NOW) is None
        with pytest.raises(Fenced):
            journal.save(claim, Saved(status="running", tasks=[TaskRow("a", "ok")]), NOW)
        with pytest.raises(Fenced):
            journal.renew(claim, LEASE_S, NOW)
        with pytest.raises(JournalError, match="has ended"):
            journal.answer("r1", "ask", {"answer": "approve"}, shown_hash="hash of Post it?", by="owner", now=NOW)
        journal.release(claim)
        assert list(journal.stop("r1", "again", by="owner", now=NOW)) == []
        journal.begin(run(), [event()])
        assert (journal.load("r1"), journal.events("r1")) == (before, told)

    def test_runs_that_could_go_on_and_have_no_leader_are_found(self, journal):
        at = iter(range(100))
        for id_ in ("queued", "running", "led"):
            journal.begin(run(id_, at=NOW + next(at)), [])
        claim = journal.claim("running", "w1", LEASE_S, NOW - 100)
        journal.save(claim, Saved(status="running"), NOW)
        journal.claim("led", "w1", LEASE_S, NOW)
        for id_, step in {
            "rests": Saved(status="resting", wake_at=NOW + 1),
            "rested": Saved(status="resting", wake_at=NOW),
            "rests for good": Saved(status="resting"),
            "waits": Saved(status="waiting", decisions=[question()]),
            "waits for a while": Saved(status="waiting", decisions=[question()], wake_at=NOW + 1),
            "waited too long": Saved(status="waiting", decisions=[question()], wake_at=NOW),
            "done": Saved(status="done"),
        }.items():
            claim = led(journal, id_, at=NOW + next(at))
            journal.save(claim, step, NOW)
            journal.release(claim)
        assert list(journal.expired(NOW)) == ["queued", "running", "rested", "waited too long"]
        assert list(journal.expired(NOW, limit=2)) == ["queued", "running"]
        assert "led" in journal.expired(NOW + LEASE_S)

    def test_a_waiting_run_could_go_on_once_it_has_its_answer_until_the_task_has_ended(self, journal):
        claim = led(journal)
        journal.save(claim, Saved(tasks=[TaskRow("ask", "running")], decisions=[question()], status="waiting"), NOW)
        assert journal.answer("r1", "ask", {"answer": "approve"}, shown_hash="hash of Post it?", by="owner", now=NOW)
        assert list(journal.expired(NOW)) == []
        journal.release(claim)
        assert list(journal.expired(NOW)) == ["r1"]
        claim = journal.claim("r1", "w2", LEASE_S, NOW)
        journal.save(claim, Saved(tasks=[TaskRow("ask", "ok")], decisions=[question("more")], status="waiting"), NOW)
        journal.release(claim)
        assert list(journal.expired(NOW)) == []

    def test_a_closed_journal_says_so(self, another):
        journal = another()
        journal.begin(run(), [])
        journal.close()
        journal.close()
        with pytest.raises(JournalError, match="closed"):
            journal.load("r1")
        with pytest.raises(JournalError, match="closed"):
            journal.begin(run("r2"), [])


def deep(levels: int) -> Any:
    value: Any = None
    for _ in range(levels):
        value = [value]
    return value


def clean(program: str) -> str:
    """A program that was written indented."""
    return textwrap.dedent(program)
