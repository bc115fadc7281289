"""Several processes on one home, and processes that are killed: real ones, at any moment."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from neurons import Damage, DeferredStorage, Neuron, NeuronStore, Status, StorageError, why_not_awake
from tests.neurons.governance import MAX_CODE_BYTES, proposal, report_of, shown
from tests.neurons.places import BOUND_S, wait_until
from tests.neurons.storage_child import KEY, SETTINGS, content, pipeline_of


class Nursery:
    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.neurons.storage_child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def order(self, do: str, **details: Any) -> int:
        self.process.stdin.write(json.dumps({"do": do, **details}).encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ended(self, pid: int) -> int:
        return self.order("wait", pid=pid)

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(BOUND_S)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def noted(paper: Path) -> list[list[str]]:
    lines = paper.read_bytes().split(b"\n")[:-1] if paper.exists() else []
    return [line.decode().split(" ") for line in lines]


def is_longer(paper: Path, size: int) -> bool:
    return paper.exists() and paper.stat().st_size > size


def unfinished(state: Path) -> list[str]:
    return [path.name for path in state.rglob("*.cortex-new")]


def check_numbers(storage: DeferredStorage, lines: list[list[str]]) -> None:
    """Each is the last one that was done, or one that was begun after it; and whole."""
    for key in ("numbers/0", "numbers/1", "numbers/2"):
        done = max((int(line[2]) for line in lines if line[:2] == ["wrote", key]), default=0)
        begun = max((int(line[2]) for line in lines if line[:2] == ["write", key]), default=0)
        document = storage.read(key)
        number = document.data["number"] if document is not None else 0
        assert number in {done, begun}
        assert document is None or document.data == content(number)


def check_approvals(neurons: list[Neuron], lines: list[list[str]]) -> None:
    begun, done, disabled = (
        {line[1] for line in lines if line[0] == word} for word in ("approve", "approved", "disabled")
    )
    found = {neuron.id: neuron for neuron in neurons}
    assert done <= found.keys()
    for neuron in neurons:
        if neuron.approvals:
            assert neuron.id in begun, "an approval that nobody gave"
            assert KEY.verify(neuron.id, neuron.approvals[0])
        if neuron.id in done:
            assert neuron.approvals, "an approval is lost"
        if neuron.status is Status.TRIAL:
            assert why_not_awake(neuron, KEY) is None
            assert neuron.id not in disabled, "a decision is lost"


def kill_at_random(nursery: Nursery, tmp_path: Path, rounds: int) -> None:
    chance = random.Random()
    state = tmp_path / "state-0"
    papers: list[Path] = []
    for number in range(rounds):
        if number % 20 == 0:
            # Not for ever in the same one: a home with hundreds of neurons takes long to check.
            state, papers = tmp_path / f"state-{number}", []
        papers.append(tmp_path / f"paper-{number}")
        pid = nursery.order("work", state=str(state), paper=str(papers[-1]), seed=number)
        wait_until(partial(is_longer, papers[-1], chance.randrange(260)))
        os.kill(pid, signal.SIGKILL)
        assert nursery.ended(pid) == -signal.SIGKILL

        damages: list[Damage] = []
        storage = DeferredStorage(state, on_damage=damages.append)
        check_numbers(storage, noted(papers[-1]))
        check_approvals(NeuronStore(storage).load_all(), [line for paper in papers for line in noted(paper)])
        assert damages == []
        for key in ("numbers/0", "numbers/1", "numbers/2"):
            storage.delete(key)
        for neuron in NeuronStore(storage).load_all():
            if neuron.is_awake:
                # Killed before it could: the next one needs the place.
                NeuronStore(storage).disable(neuron.id)
        assert unfinished(state / "numbers") == []


def test_a_process_that_is_killed_at_any_moment_leaves_the_old_document_or_the_new_one(nursery, tmp_path):
    kill_at_random(nursery, tmp_path, 80)


@pytest.mark.soak
def test_a_thousand_kills_lose_no_approval_and_make_none(nursery, tmp_path):
    kill_at_random(nursery, tmp_path, 1_000)


def home_with_a_question(state: Path) -> tuple[Neuron, str]:
    storage = DeferredStorage(state)
    storage.write_through("numbers/0", content(1))
    pipeline = pipeline_of(storage)
    neuron = pipeline.propose(proposal(), max_code_bytes=MAX_CODE_BYTES)
    neuron = pipeline.judged(neuron.id, report_of(neuron))
    return neuron, shown(neuron)


STEPS = {"write": 2, "flush": 2, "approve": 5, "disable": 3, "delete": 1, "read": 1}


@pytest.mark.parametrize("step", STEPS)
def test_before_whichever_call_of_the_system_it_is_killed_a_document_is_old_or_new(nursery, tmp_path, step):
    """Other calls in each run: all of them take half a minute."""
    kill_before_calls(nursery, tmp_path, step, random.randrange(STEPS[step]), STEPS[step])


@pytest.mark.soak
@pytest.mark.parametrize("step", STEPS)
def test_before_each_single_call_of_the_system_it_is_killed(nursery, tmp_path, step):
    kill_before_calls(nursery, tmp_path, step, 0, 1)


def kill_before_calls(nursery: Nursery, tmp_path: Path, step: str, first: int, every: int) -> None:
    template = tmp_path / "template"
    neuron, hash_shown = home_with_a_question(template)
    calls, status = first, -signal.SIGKILL
    seen: set[bool] = set()
    while status != 0:
        state, paper = tmp_path / f"state-{calls}", tmp_path / f"paper-{calls}"
        shutil.copytree(template, state)
        pid = nursery.order(
            "step", step=step, state=str(state), paper=str(paper), calls=calls, neuron=neuron.id, shown=hash_shown
        )
        status = nursery.ended(pid)
        assert status in {0, -signal.SIGKILL}
        damages: list[Damage] = []
        storage = DeferredStorage(state, on_damage=damages.append)
        [found] = NeuronStore(storage).load_all()
        number = storage.read("numbers/0")
        match step:
            case "write" | "flush":
                assert number.data in (content(1), content(2))
                is_new = number.data == content(2)
            case "approve":
                assert found.status is Status.TRIAL or found == neuron
                is_new = why_not_awake(found, KEY) is None
                assert is_new == (found.status is Status.TRIAL)
                assert not is_new or ["approve", neuron.id] in noted(paper), "what is decided is recorded first"
            case "disable":
                is_new = found.status is Status.DISABLED
                assert is_new or found == neuron
            case "delete":
                assert number is None or number.data == content(1)
                is_new = number is None
            case _:
                assert number.data == content(1)
                is_new = True
        assert is_new or status != 0, "what has returned is done"
        seen.add(is_new)
        assert damages == []
        # Who comes next is not kept waiting, and sweeps.
        storage.write_through("numbers/1", content(3))
        NeuronStore(storage).disable(neuron.id)
        assert unfinished(state) == []
        calls += every
    assert seen == ({True} if step == "read" else {True, False})
    assert calls > 5


def test_no_update_is_lost_when_processes_race(nursery, state, tmp_path):
    order = {"state": str(state), "start": str(tmp_path / "start"), "times": 30}
    racers = [nursery.order("count", **order) for _ in range(4)]
    (tmp_path / "start").touch()
    assert [nursery.ended(pid) for pid in racers] == [0] * 4
    document = DeferredStorage(state).read("numbers/0")
    assert (document.data, document.revision) == ({"count": 120}, 120)


def test_no_more_than_allowed_are_awake_when_processes_race_to_approve(nursery, state, tmp_path):
    pipeline = pipeline_of(DeferredStorage(state))
    waiting = []
    for number in range(8):
        neuron = pipeline.propose(proposal(name=f"Racer {number}"), max_code_bytes=MAX_CODE_BYTES)
        waiting.append(pipeline.judged(neuron.id, report_of(neuron)))
    papers = [tmp_path / f"paper-{number}" for number in range(4)]
    order = {"state": str(state), "start": str(tmp_path / "start")}
    racers = []
    for number, paper in enumerate(papers):
        # All approve all, each in another order: every question is answered once, and five places are taken.
        ours = [(neuron.id, shown(neuron)) for neuron in waiting[number:] + waiting[:number]]
        racers.append(nursery.order("approve", paper=str(paper), neurons=ours, **order))
    (tmp_path / "start").touch()
    assert [nursery.ended(pid) for pid in racers] == [0] * 4
    awake = [neuron for neuron in NeuronStore(DeferredStorage(state)).load_all() if neuron.is_awake]
    assert len(awake) == SETTINGS.max_awake
    lines = [line for paper in papers for line in noted(paper)]
    assert sorted(line[1] for line in lines if line[0] == "approved") == sorted(neuron.id for neuron in awake)
    assert all(len(neuron.approvals) == 1 for neuron in awake)


def test_who_stops_with_the_lock_is_named_and_who_dies_with_it_lets_go(nursery, state):
    pid = nursery.order("hold", state=str(state))
    wait_until(lambda: ") T " in Path(f"/proc/{pid}/stat").read_text())
    storage = DeferredStorage(state, lock_timeout_s=0.05)
    with pytest.raises(StorageError, match=r'Cannot lock ".*numbers/.lock": another process holds it'):
        storage.write_through("numbers/0", {"count": 1})
    assert storage.read("numbers/0") is None, "who reads waits for nobody"
    storage.write("numbers/0", {"count": 1})
    with pytest.raises(StorageError, match="another process holds it"):
        storage.flush()
    os.kill(pid, signal.SIGKILL)
    assert nursery.ended(pid) == -signal.SIGKILL
    storage.flush()
    assert DeferredStorage(state).read("numbers/0").data == {"count": 1}
