"""Runs of workflows whose process is killed: nothing is done twice, nothing is lost, and what is unknown is asked."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import anyio
import pytest

from cortex.workflows import Approve, Reject, SqliteJournal, Value
from tests.cortex.workflows.host import LAYERS, LEASE_S, RUN, effects, opened, steps
from tests.cortex.workflows.support import LIMIT_S, kinds, plan, tool, until

KILLS = int(os.environ.get("CORTEX_WORKFLOW_KILLS", "5"))
ORDER = [str(n) for n in range(LAYERS)]


def host(place: Path, what: str = "run") -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.cortex.workflows.host", str(place), what]
    with open(place / "stderr", "a", encoding="utf-8") as told:
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True)


def to_the_end(place: Path) -> str:
    with host(place) as process:
        said, _ = process.communicate(timeout=LIMIT_S * 2)
    return said.splitlines()[-1].split()[0]


def require_whole(place: Path) -> None:
    """Everything was done once, in order, and paid once."""
    assert effects(place) == ORDER
    assert (place / "files" / "log.txt").read_text().split() == ORDER
    motor = opened(place)
    taken = Counter(entry.turn for entry in motor.energy.entries(10_000) if entry.reason == "execution")
    assert taken == {f"{RUN}/{kind}{n}/1": 1 for n in range(LAYERS) for kind in ("write", "sum")}
    assert [path for path in (place / "home" / "workflows" / "changes").rglob("*") if path.is_file()] == []


def require_nothing_unsaved(place: Path) -> bool:
    """The journal opens, and only tasks that it has saved have changed files. Whether the run has ended."""
    journal = SqliteJournal(place / "home" / "workflows")
    run, tasks = journal.load(RUN).run, journal.load(RUN).tasks
    journal.close()
    log = place / "files" / "log.txt"
    written = log.read_text().split() if log.exists() else []
    assert {f"write{n}" for n in written} <= {id_ for id_, row in tasks.items() if row.status == "ok"}
    assert written == ORDER[: len(written)]
    return run.status == "done"


@pytest.mark.parametrize("kills", [KILLS, pytest.param(50, marks=pytest.mark.soak)])
def test_a_run_that_is_killed_again_and_again_does_everything_once(tmp_path: Path, kills: int):
    chance = random.Random(7)
    places = (tmp_path / str(number) for number in range(kills + 1))
    place = next(places)
    place.mkdir()
    for _ in range(kills):
        with host(place) as process:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == "started"
            time.sleep(chance.uniform(0.0, 1.0))
            process.kill()
        if require_nothing_unsaved(place):  # it was faster: kill another run
            require_whole(place)
            place = next(places)
            place.mkdir()
    assert to_the_end(place) == "done"
    require_whole(place)


@pytest.mark.parametrize("moment", ["kept", "saved", "committed"])
def test_files_are_committed_exactly_once_also_when_killed_beside_the_checkpoint(tmp_path: Path, moment: str):
    with host(tmp_path, moment) as process:
        process.wait(timeout=LIMIT_S)
    log = tmp_path / "files" / "log.txt"
    assert log.exists() == (moment == "committed")
    if moment == "saved":
        with host(tmp_path, "finished") as process:  # killed once more, right behind
            process.wait(timeout=LIMIT_S)
        assert log.read_text() == "0\n"
    assert to_the_end(tmp_path) == "done"
    require_whole(tmp_path)


def test_two_processes_resume_a_run_and_one_executes_it(tmp_path: Path):
    with host(tmp_path) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.3)
        process.kill()
    both = [host(tmp_path), host(tmp_path)]
    ends = [process.communicate(timeout=LIMIT_S * 2)[0].splitlines()[-1].split()[0] for process in both]
    assert ends == ["done", "done"]
    require_whole(tmp_path)


@pytest.mark.parametrize(
    ("said", "status", "calls"),
    [(Approve(), "done", 2), (Value(value="it was"), "done", 1), (Reject(reason="leave it"), "aborted", 1)],
)
async def test_a_call_of_unknown_end_is_not_repeated_but_asked_about(tmp_path: Path, said, status: str, calls: int):
    one = plan(
        tool("effect0", "place.effect", arguments={"text": "0"}),
        tool("then", "place.effect", "effect0", arguments={"text": "1"}),
    )
    async with opened(tmp_path, hangs=True) as place:
        flows = place.workflows
        run = await flows.start(one, id=RUN)
        with anyio.fail_after(LIMIT_S):
            while not effects(tmp_path):
                await anyio.sleep(0.002)
        # The process ends here, as far as the run is concerned: its row says that the call is under way.
        await flows.aclose()
    async with opened(tmp_path) as place:
        flows = place.workflows
        await flows.resume(run.id)
        await until(flows, run.id, "waiting")
        state = flows.show(run.id)
        question = state.decisions["effect0"]
        assert state.tasks["effect0"].status == "unknown"
        assert "Nobody knows whether it took effect" in question.shown
        await anyio.sleep(0.5)
        assert effects(tmp_path) == ["0"]
        await flows.decide(run.id, "effect0", said, shown_hash=question.shown_hash, by="ann")
        with anyio.fail_after(LIMIT_S):
            result = await flows.wait(run.id)
        assert "task_unknown" in await kinds(flows, run.id)
    assert result.run.status == status
    assert effects(tmp_path).count("0") == calls
    assert effects(tmp_path).count("1") == (status == "done")
    if isinstance(said, Value):
        assert result.tasks["effect0"].result == "it was"


def test_the_lease_is_short_in_these_tests():
    assert LEASE_S < 1
    assert len(steps().tasks) == 3 * LAYERS


def test_only_the_changes_of_files_that_were_saved_are_made_after_a_kill(tmp_path: Path):
    """A process that had lost the lead may have kept its own under the same name."""
    with host(tmp_path, "saved") as process:
        process.wait(timeout=LIMIT_S)
    [kept] = (tmp_path / "home" / "workflows" / "changes").glob("*/write0.1")
    data = kept.read_bytes()
    assert data.count(b"0\n") == 1
    kept.write_bytes(data.replace(b"0\n", b"7\n"))

    async def resumed() -> str:
        async with opened(tmp_path) as motor:
            with anyio.fail_after(LIMIT_S):
                await motor.workflows.resume(RUN)
                while "not what was saved" not in (reason := motor.workflows.show(RUN).run.reason):
                    assert not (tmp_path / "files" / "log.txt").exists()
                    await anyio.sleep(0.05)
            return reason

    assert 'the files of task "write0" were not written' in anyio.run(resumed)
