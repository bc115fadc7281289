"""A process that executes a run, to be killed from outside: `python -m tests.cortex.workflows.host PLACE WHAT`.

PLACE holds the home, the folder `files` of the code, and the file `effects` to which a tool appends a line.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio

from cortex import Folder, MotorCortex, Toolbox
from cortex.workflows import Approve, JournalError, KeptFiles, SqliteJournal, Value, WorkflowError
from sandbox import Workspace
from tests.cortex.workflows.support import code, cortex, plan, tool

RUN = "r1"
LAYERS = 5
LEASE_S = 0.6


def steps() -> Any:
    """Each layer: a tool that must not be repeated, code that writes a file, and code that only computes."""
    tasks: list[dict[str, Any]] = []
    for n in range(LAYERS):
        before = [f"write{n - 1}", f"effect{n - 1}"] if n else []
        write = f"await Deno.writeTextFile('/workspace/log.txt', '{n}\\n', {{append: true, create: true}}); return {n}"
        tasks += [
            tool(f"effect{n}", "place.effect", *before, arguments={"text": str(n)}),
            code(f"write{n}", write, *before, workspace="workspace"),
            code(f"sum{n}", f"return Object.values(context).length + {n}", *before),
        ]
    return plan(*tasks)


def opened(place: Path, *, hangs: bool = False) -> MotorCortex:
    """`hangs`: the tool takes effect, and then does not return."""
    toolbox = Toolbox()

    @toolbox.tool(name="place.effect", description="Takes effect.")
    async def effect(text: str) -> str:
        await anyio.sleep(0.01)
        with open(place / "effects", "a", encoding="utf-8") as file:
            file.write(f"{text}\n")
        await anyio.sleep(60 if hangs else 0.01)
        return text

    folder = place / "files"
    folder.mkdir(exist_ok=True)
    return cortex(place / "home", toolbox=toolbox, workspace=Folder(folder, commit="auto"))


def effects(place: Path) -> list[str]:
    path = place / "effects"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_at(what: str) -> None:
    """Kill this process at one of the moments between a checkpoint and the commit of its files."""

    def once(before: Callable[..., Any], *, first: bool) -> Callable[..., Any]:
        def called(*given: Any, **named: Any) -> Any:
            if first:
                die()
            before(*given, **named)
            die()

        return called

    match what:
        case "kept":  # before the checkpoint
            KeptFiles.put = once(KeptFiles.put, first=False)
        case "saved":  # behind the checkpoint, before the commit
            save = SqliteJournal.save

            def saved(self: SqliteJournal, claim: Any, step: Any, now: float) -> Any:
                told = save(self, claim, step, now)
                if any("files" in task.metrics for task in step.tasks):
                    die()
                return told

            SqliteJournal.save = saved
        case "committed":  # behind the commit
            KeptFiles.forget = once(KeptFiles.forget, first=True)
        case "finished":  # while what was left is finished
            finish = Workspace.finish

            async def finished(self: Workspace, data: bytes) -> bool:
                await finish(self, data)
                die()
                return True

            Workspace.finish = finished


async def answer_like_an_owner(place: Path, flows: Any) -> None:
    """Look whether a call of unknown end took effect, and say so."""
    state = flows.show(RUN)
    for id_, row in state.tasks.items():
        question = state.decisions.get(id_)
        if row.status == "unknown" and question is not None and question.said is None:
            number = id_.removeprefix("effect")
            said = Value(value=number) if number in effects(place) else Approve()
            with suppress(WorkflowError, JournalError):  # another process has just answered
                await flows.decide(RUN, id_, said, shown_hash=question.shown_hash, by="ann")


async def main(place: Path, what: str) -> None:
    die_at(what)
    async with opened(place) as motor:
        flows = motor.workflows
        flows.lease_s = LEASE_S
        await flows.start(steps(), id=RUN)
        print("started", flush=True)
        while flows.show(RUN).run.status not in {"done", "failed", "aborted"}:
            await answer_like_an_owner(place, flows)
            await anyio.sleep(0.05)
        print(flows.show(RUN).run.status, flows.show(RUN).run.reason, flush=True)


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2])
