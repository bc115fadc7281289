"""A process that starts others, all with the documents of one home. It reads orders and answers, a JSON text a line.

Workers are forked here and not in the test's process, which has threads, and which a fork would copy.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from neurons import ApprovalKey, Conflict, DeferredStorage, NeuronSettings, NeuronStore, Pipeline

from .governance import MAX_CODE_BYTES, proposal, report_of, shown

KEY = ApprovalKey(b"k" * 32)
SETTINGS = NeuronSettings.model_validate({"proposals": {"max_pending": 100, "max_per_day": 100_000}})
SYSTEM_MODULES = {"posix", "fcntl"}


class Paper:
    """What was begun and what was done: what is written there survives the end of the writer."""

    def __init__(self, path: str) -> None:
        self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def note(self, *words: object) -> None:
        os.write(self._handle, " ".join(map(str, words)).encode() + b"\n")


def storage_of(order: dict[str, Any]) -> DeferredStorage:
    # Those who race come again and again, and a machine may be busy.
    return DeferredStorage(Path(order["state"]), lock_timeout_s=60)


def pipeline_of(storage: DeferredStorage, paper: Paper | None = None) -> Pipeline:
    def record(kind: str, /, **facts: Any) -> None:
        if paper is not None:
            paper.note(facts["what"].removeprefix("neuron "), facts["neuron"])

    return Pipeline(NeuronStore(storage), SETTINGS, KEY, record=record)


def content(number: int) -> dict[str, Any]:
    """Of another length each time, and of a kind that shows whether it is whole."""
    return {"number": number, "text": f"{number} " * (number % 700), "end": number}


def work(order: dict[str, Any]) -> None:
    """Write and approve, until somebody kills this process."""
    chance = random.Random(order["seed"])
    paper = Paper(order["paper"])
    storage = storage_of(order)
    pipeline = pipeline_of(storage, paper)
    number = 0
    while True:
        number += 1
        key = f"numbers/{chance.randrange(3)}"
        paper.note("write", key, number)
        if chance.random() < 0.5:
            storage.write_through(key, content(number))
        else:
            storage.write(key, content(number))
            storage.flush()
        paper.note("wrote", key, number)
        if number % 3 == 0:
            neuron = pipeline.propose(proposal(name=f"N{order['seed']}x{number}"), max_code_bytes=MAX_CODE_BYTES)
            neuron = pipeline.judged(neuron.id, report_of(neuron))
            pipeline.approve(neuron.id, shown(neuron))
            paper.note("approved", neuron.id)
            pipeline.disable(neuron.id, "its place is needed")
            paper.note("disabled", neuron.id)


def step(order: dict[str, Any]) -> None:
    """One thing, and the end of the process before its n-th call of the system, if it makes so many."""
    storage = storage_of(order)
    paper = Paper(order["paper"])
    pipeline = pipeline_of(storage, paper)
    left = order["calls"]

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal left
        if event == "c_call" and getattr(argument, "__module__", None) in SYSTEM_MODULES:
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.setprofile(count)
    match order["step"]:
        case "write":
            storage.write_through("numbers/0", content(2))
        case "flush":
            storage.write("numbers/0", content(2))
            storage.flush()
        case "approve":
            pipeline.approve(order["neuron"], order["shown"])
        case "disable":
            pipeline.disable(order["neuron"], "because")
        case "delete":
            storage.delete("numbers/0")
        case "read":
            storage.read_all("numbers/")
    sys.setprofile(None)
    paper.note("done")


def count_up(order: dict[str, Any]) -> None:
    """So many times, each as one step or by trying again after a conflict."""
    storage = storage_of(order)
    while not os.path.exists(order["start"]):
        os.sched_yield()  # all at the same time; the test ends the waiting
    for number in range(order["times"]):
        if number % 3 == 0:
            storage.update("numbers/0", _one_more, through=False)
            storage.flush()
        elif number % 3 == 1:
            storage.update("numbers/0", _one_more)
        else:
            _try_until_it_fits(storage)


def _one_more(data: dict[str, Any] | None) -> dict[str, Any]:
    return {"count": (data or {"count": 0})["count"] + 1}


def _try_until_it_fits(storage: DeferredStorage) -> None:
    while True:
        document = storage.read("numbers/0")
        try:
            storage.write_through(
                "numbers/0",
                _one_more(document.data if document else None),
                revision=document.revision if document else 0,
            )
        except Conflict:
            continue
        return


def approve(order: dict[str, Any]) -> None:
    """Approve what one is told to, at the same time as others."""
    paper = Paper(order["paper"])
    pipeline = pipeline_of(storage_of(order))
    while not os.path.exists(order["start"]):
        os.sched_yield()
    for neuron_id, hash_shown in order["neurons"]:
        try:
            pipeline.approve(neuron_id, hash_shown)
            paper.note("approved", neuron_id)
        except Exception as error:  # noqa: BLE001 - the test reads which
            paper.note("refused", neuron_id, error)


def hold(order: dict[str, Any]) -> None:
    """Stop in the middle of a change, with the lock."""

    def stop(data: dict[str, Any] | None) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGSTOP)
        return _one_more(data)

    storage_of(order).update("numbers/0", stop)


WORK: dict[str, Callable[[dict[str, Any]], None]] = {
    "work": work,
    "step": step,
    "count": count_up,
    "approve": approve,
    "hold": hold,
}


def main() -> None:
    for line in sys.stdin:
        order = json.loads(line)
        if order["do"] == "wait":
            _, status = os.waitpid(order["pid"], 0)
            answer = os.waitstatus_to_exitcode(status)
        else:
            answer = os.fork()
            if answer == 0:
                try:
                    WORK[order["do"]](order)
                except Exception as error:  # noqa: BLE001 - a fork must end here, whatever happened
                    print(repr(error), file=sys.stderr, flush=True)
                    os._exit(1)
                os._exit(0)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
