"""A program that has several processes of one home do something at the same moment, and prints what came of each.

The racers are forked here and not in the test's process, which has threads, and which a fork would copy.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from neurons import ApprovalKey, DeferredStorage, Neuron, NeuronError, NeuronSettings, NeuronStore, Pipeline
from neurons.pipeline.trial import Delivered

from .governance import MAX_CODE_BYTES, proposal

Act = Callable[[Pipeline, Any], Neuron]
ACTS: dict[str, Act] = {
    "approve": lambda pipeline, given: pipeline.approve(given[0], given[1]),
    "enable": lambda pipeline, given: pipeline.enable(given),
    "rollback": lambda pipeline, given: pipeline.rollback(given, 1),
    "propose": lambda pipeline, given: pipeline.propose(proposal(name=given), max_code_bytes=MAX_CODE_BYTES),
    "deliver": lambda pipeline, given: _deliver(pipeline, given),
}


def pipeline_on(folder: Path, **settings: Any) -> Pipeline:
    # A machine may be busy, and the racers come all at once.
    storage = DeferredStorage(folder / "state", lock_timeout_s=60)
    key = ApprovalKey.load_or_make(folder)
    return Pipeline(
        NeuronStore(storage), NeuronSettings.model_validate(settings), key, record=lambda kind, **facts: None
    )


def main(folder: Path, races: list[tuple[str, Any]], settings: dict[str, Any]) -> list[str]:
    gate, opened = os.pipe()
    answers = []
    for act, given in races:
        answer, told = os.pipe()
        if os.fork() == 0:
            os.close(opened)
            os.write(told, _raced(folder, gate, act, given, settings).encode())
            os._exit(0)
        os.close(told)
        answers.append(answer)
    os.close(opened)
    found = [os.fdopen(answer).read() for answer in answers]
    for _ in races:
        os.wait()
    return found


def _raced(folder: Path, gate: int, act: str, given: Any, settings: dict[str, Any]) -> str:
    try:
        os.read(gate, 1)
        pipeline = pipeline_on(folder, **settings)
        neuron = ACTS[act](pipeline, given)
        pipeline.store.flush()
    except NeuronError as error:
        return f"refused: {error}"
    except BaseException as error:  # noqa: BLE001 - a fork must end here, whatever happened
        return f"raised: {error!r}"
    return neuron.status.value


def _deliver(pipeline: Pipeline, given: Any) -> Neuron:
    for _ in range(given[1]):
        neuron = pipeline.deliver(given[0], Delivered(at=given[2], signals=1))
    return neuron


if __name__ == "__main__":
    order = json.loads(sys.stdin.read())
    print(json.dumps(main(Path(order["folder"]), order["races"], order["settings"])))
