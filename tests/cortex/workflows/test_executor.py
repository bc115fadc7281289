"""What the executor does when the disk, another process or the energy stand in its way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from cortex import Folder, Toolbox
from cortex.energy import EnergyReserve, Insufficient
from cortex.settings import EnergySettings
from cortex.workflows import Approve, JournalError, KeptFiles, Saved, SqliteJournal, checked
from cortex.workflows.attempt_energy import AttemptEnergy, Budget, key_of, taken_before
from cortex.workflows.journal import DecisionRow, TaskRow
from cortex.workflows.progress import standing, to_take_over
from sandbox import Tier
from tests.cortex.workflows.support import LIMIT_S, asked, code, cortex, decision, plan, tool, until

WRITES = "await Deno.writeTextFile('/workspace/{0}.txt', '{0}'); return 1"


async def test_a_layer_whose_checkpoint_fails_is_not_done_and_nothing_after_it_starts(tmp_path: Path, monkeypatch):
    folder = tmp_path / "files"
    folder.mkdir()
    steps = plan(
        *(code(id_, WRITES.format(id_), *needs, workspace="workspace") for id_, needs in (("a", []), ("b", ["a"])))
    )
    save = SqliteJournal.save
    is_full = [True]

    def full(self: SqliteJournal, claim: Any, step: Saved, now: float) -> Any:
        if is_full[0] and any(row.status == "ok" for row in step.tasks):
            raise JournalError("the disk is full")
        return save(self, claim, step, now)

    monkeypatch.setattr(SqliteJournal, "save", full)
    async with cortex(tmp_path / "home", workspace=Folder(folder, commit="auto")) as place:
        flows = place.workflows
        run = await flows.start(steps)
        with anyio.fail_after(LIMIT_S), pytest.raises(JournalError, match="disk is full"):
            await flows.wait(run.id)
        assert list(folder.iterdir()) == []
        assert flows.show(run.id).tasks == {}
        epoch = flows.show(run.id).run.epoch
        await anyio.sleep(0.8)
        assert flows.show(run.id).run.epoch == epoch  # it does not try again by itself
        is_full[0] = False
        await flows.resume(run.id)
        with anyio.fail_after(LIMIT_S):
            assert (await flows.wait(run.id)).ok
        assert sorted(path.name for path in folder.iterdir()) == ["a.txt", "b.txt"]
        keys = [entry.turn for entry in place.energy.entries() if entry.reason == "execution"]
        assert keys == [f"{run.id}/a/1", f"{run.id}/b/1"]  # the attempt is repeated, and paid once


async def test_a_process_that_has_lost_the_lead_saves_and_commits_nothing(tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    slow = "await new Promise((done) => setTimeout(done, 8000)); " + WRITES.format("a")
    async with cortex(tmp_path / "home", workspace=Folder(folder, commit="auto")) as place:
        flows = place.workflows
        flows.lease_s = 0.5
        run = await flows.start(plan(code("a", slow, workspace="workspace")))
        await until(flows, run.id, "running")
        journal = SqliteJournal(tmp_path / "home" / "workflows")
        now = place._now()
        claim = journal.claim(run.id, "another", 60.0, now + 10)  # as if its lease had ended
        assert claim is not None
        with anyio.fail_after(5):  # it notices when it renews its lease
            while flows._dispatch.is_handled(run.id):
                await anyio.sleep(0.05)
        assert list(folder.iterdir()) == []
        state = journal.load(run.id)
        assert (state.run.worker, state.tasks) == ("another", {})
        journal.close()


async def test_files_that_others_have_changed_meanwhile_are_kept_and_the_run_waits_for_the_owner(tmp_path: Path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.txt").write_text("old")
    box, edits_made = Toolbox(), []

    @box.tool(name="owner.edits", description="Changes the file.")
    async def edits() -> str:
        await anyio.sleep(1.5)
        (folder / "a.txt").write_text("of the owner")
        edits_made.append(1)
        return "edited"

    read = "await Deno.readTextFile('/workspace/a.txt'); "
    steps = plan(
        code("a", read + WRITES.format("a"), workspace="workspace"),
        tool("edit", "owner.edits"),
        code("c", "return 1", "a"),
    )
    async with cortex(tmp_path / "home", toolbox=box, workspace=Folder(folder, commit="auto")) as place:
        flows = place.workflows
        run = await flows.start(steps)
        row = await until(flows, run.id, "waiting")
        assert 'the files of task "a" were not written: Cannot commit: "a.txt" is not what it was' in row.reason
        assert 'fork the run at "a"' in row.reason
        assert (folder / "a.txt").read_text() == "of the owner"
        await flows.resume(run.id)  # it is still in the way
        with anyio.fail_after(LIMIT_S):
            while flows.show(run.id).run.epoch < 2 or flows._dispatch.is_handled(run.id):
                await anyio.sleep(0.02)
        assert flows.show(run.id).run.status == "waiting"
        assert "c" not in flows.show(run.id).tasks
        # A fork does it again, with what the owner wrote before its eyes.
        fork = await flows.fork(run.id, "c")
        with anyio.fail_after(LIMIT_S):
            result = await flows.wait(fork.id)
        assert (result.run.status, (folder / "a.txt").read_text()) == ("done", "a")
        assert len(edits_made) == 1
        await flows.abort(run.id, "forked", by="ann")
        assert list((tmp_path / "home" / "workflows" / "changes").rglob("a.1")) == []


async def test_changes_that_were_in_the_way_are_gone_and_the_run_goes_on(tmp_path: Path, monkeypatch):
    folder = tmp_path / "files"
    folder.mkdir()
    save = SqliteJournal.save

    def saved(self: SqliteJournal, claim: Any, step: Saved, now: float) -> Any:
        if any(row.status == "ok" for row in step.tasks):
            (folder / "a.txt").write_text("of another program")  # between the checkpoint and the commit
        return save(self, claim, step, now)

    monkeypatch.setattr(SqliteJournal, "save", saved)
    steps = plan(code("a", WRITES.format("a"), workspace="workspace"), code("b", "return context.a", "a"))
    async with cortex(tmp_path / "home", workspace=Folder(folder, commit="auto")) as place:
        flows = place.workflows
        run = await flows.start(steps)
        await until(flows, run.id, "waiting")
        monkeypatch.setattr(SqliteJournal, "save", save)
        (folder / "a.txt").unlink()
        await flows.resume(run.id)
        with anyio.fail_after(LIMIT_S):
            assert (await flows.wait(run.id)).ok
        assert (folder / "a.txt").read_text() == "a"
        keys = [entry.turn for entry in place.energy.entries() if entry.reason == "execution"]
        assert keys == [f"{run.id}/a/1", f"{run.id}/b/1"]


async def test_a_run_that_rests_goes_on_when_the_owner_tops_up(tmp_path: Path):
    energy = {"recharge_per_minute": 0, "cost_isolated": 0.5, "floor_isolated": 0}
    steps = plan(*(code(id_, "return 1", *needs) for id_, needs in (("a", []), ("b", ["a"]), ("c", ["b"]))))
    async with cortex(tmp_path, energy=energy) as place:
        flows = place.workflows
        run = await flows.start(steps)
        row = await until(flows, run.id, "resting")
        assert row.wake_at is None
        assert "top it up" in row.reason
        assert "`resume`" in row.reason
        await anyio.sleep(0.6)
        assert flows.show(run.id).run.status == "resting"
        place.energy.top_up(0.5)
        with anyio.fail_after(LIMIT_S):
            assert (await flows.wait(run.id)).ok


async def test_the_energy_of_an_attempt_is_taken_once(tmp_path: Path):
    ledger = EnergyReserve(tmp_path, EnergySettings(cost_isolated=0.1, floor_isolated=0, recharge_per_minute=0))
    key = key_of("r1", "a", 1)
    first = AttemptEnergy(ledger, key, Budget(0.0), is_repeated=False)
    taken = await first.take(Tier.ISOLATED, turn="x", code_hash="h")
    assert not isinstance(taken, Insufficient)
    for _ in range(2):
        budget = Budget(0.0, 0.2)
        again = AttemptEnergy(ledger, key, budget, is_repeated=True)
        same = await again.take(Tier.ISOLATED, code_hash="h")
        assert not isinstance(same, Insufficient)
        assert (same.seq, budget.spent) == (taken.seq, pytest.approx(0.1))
    assert ledger.level() == pytest.approx(0.9)
    await again.settle(same, 0.05)
    late = AttemptEnergy(ledger, key, Budget(0.0), is_repeated=True)
    settled = await late.take(Tier.ISOLATED, code_hash="h")
    assert not isinstance(settled, Insufficient)
    assert settled.charged == pytest.approx(0.05)
    assert await late.settle(settled, 0.1) == pytest.approx(0.95)  # settled once, by the first
    other = AttemptEnergy(ledger, key_of("r1", "a", 2), Budget(0.0), is_repeated=True)
    await other.take(Tier.ISOLATED, code_hash="h")
    assert ledger.level() == pytest.approx(0.85)
    assert taken_before(ledger, key_of("r1", "b", 1)) is None
    poor = AttemptEnergy(ledger, key_of("r1", "c", 1), Budget(0.95, 1.0), is_repeated=False)
    assert isinstance(await poor.take(Tier.ISOLATED, code_hash="h"), Insufficient)
    assert poor.is_over_budget
    assert ledger.level() == pytest.approx(0.85)
    assert len(key_of("r" * 200, "t" * 64, 10)) <= 200
    ledger.close()


async def test_energy_that_was_given_back_is_taken_again(tmp_path: Path):
    ledger = EnergyReserve(tmp_path, EnergySettings(cost_isolated=0.1, floor_isolated=0, recharge_per_minute=0))
    key = key_of("r1", "a", 1)
    first = AttemptEnergy(ledger, key, Budget(0.0), is_repeated=False)
    taken = await first.take(Tier.ISOLATED, code_hash="h")
    assert not isinstance(taken, Insufficient)
    await first.settle(taken, 0.0)
    again = await AttemptEnergy(ledger, key, Budget(0.0), is_repeated=True).take(Tier.ISOLATED, code_hash="h")
    assert not isinstance(again, Insufficient)
    assert again.seq != taken.seq
    assert ledger.level() == pytest.approx(0.9)
    ledger.close()


def test_where_a_run_stands():
    steps = plan(code("a", "return 1"), decision("sure", "a"), code("b", "return 1", "sure"), code("free", "return 1"))
    start = standing(steps, {}, {})
    assert [task.id for task in start.work] == ["a", "free"]
    done = {"a": TaskRow("a", "ok"), "free": TaskRow("free", "unknown")}
    about = DecisionRow("free", "owner", "?", "h", 0.0)
    now = standing(steps, done, {"free": about})
    assert (now.work, [task.id for task in now.to_ask], now.asked) == ((), ["sure"], ("free",))
    assert not now.is_done
    over = {"a": TaskRow("a", "failed", error={"message": "why"})}
    assert standing(steps, over, {}).failed == 'task "a" failed: why'
    rejected = {"a": TaskRow("a", "ok"), "sure": TaskRow("sure", "skipped"), "free": TaskRow("free", "ok")}
    end = standing(steps, rejected, {})
    assert (end.is_done, [task.id for task in end.skipped]) == (True, ["b"])


def test_what_a_fork_takes_over():
    steps = plan(code("a", "return 1"), code("b", "return 1", "a"), code("c", "return 1", "b"), code("d", "return 1"))
    rows = {id_: TaskRow(id_, "ok") for id_ in "abcd"} | {"d": TaskRow("d", "failed")}
    assert to_take_over(steps, rows, "b", steps) == ("a",)
    assert to_take_over(steps, rows, "c", steps) == ("a", "b")
    fewer = checked({"name": "n", "tasks": [code("b", "return 1")]})
    assert to_take_over(steps, rows, "c", fewer) == ("b",)


def test_kept_files_are_bounded_and_forgotten(tmp_path: Path, monkeypatch):
    files = KeptFiles(tmp_path / "changes")
    files.put("r1", "a", 1, b"one")
    files.put("r1", "b", 2, b"two")
    assert list(files.all("r1")) == [("a", 1), ("b", 2)]
    assert (files.get("r1", "b", 2), files.get("r2", "b", 2)) == (b"two", None)
    files.forget("r1", "a", 1)
    assert list(files.all("r1")) == [("b", 2)]
    files.discard("r1")
    assert (list(files.all("r1")), files.get("r1", "b", 2)) == ([("b", 2)], b"")
    files.clear("r1")
    files.clear("r1")
    assert list((tmp_path / "changes").iterdir()) == []
    monkeypatch.setattr("cortex.workflows.kept_files.MAX_BYTES", 2)
    with pytest.raises(ValueError, match="at most 2"):
        files.put("r1", "a", 1, b"one")


async def test_a_run_with_the_id_of_one_that_is_forgotten_pays_for_its_own_attempts(tmp_path: Path):
    steps = plan(decision("ok"), code("pays", "return 1", "ok"))
    levels = []
    async with cortex(tmp_path, energy={"recharge_per_minute": 0, "cost_isolated": 0.1}) as place:
        flows = place.workflows
        for _ in range(2):
            await flows.start(steps, id="nightly")
            question = await asked(flows, "nightly", "ok")
            await flows.decide("nightly", "ok", Approve(), shown_hash=question.shown_hash, by="ann")
            with anyio.fail_after(LIMIT_S):
                assert (await flows.wait("nightly")).ok
            levels.append(place.energy.level())
            flows._journal.forget("nightly")
    assert 1 > levels[0] > levels[1]
