"""The attack programs that have a folder, as code of an agent: a turn of a real cortex asks the owner about what they
change, commits it, and answers the model. The same properties hold, whoever reads the question or the answer."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

import anyio
import pytest

from cortex import Decision, Folder, MotorCortex, Settings
from cortex.contracts import ExecutionEnded
from cortex.settings.sections import EnergySettings, ExecuteSettings, RedactionSettings, ToolSettings
from cortex.tools import describe
from sandbox import DenoRuntime, ExecutionOutcome, LogEntry
from sandbox.jail.layers import Layer

from .arena import Arena, Servers, UnpermittedRuntime, arena, settings
from .program import load
from .test_escapes import judge, name_of, wanted

PROGRAMS = [program for program in load() if program.tier == "workspace"]
AUTHORITY = [program for program in PROGRAMS if program.authority]
LONGEST_MS = 600_000


class Agreeable:
    """An owner who says yes to the programs whose changes are to be made, and sees each question whole."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    async def decide(self, question):
        text = describe(question)
        self.texts.append(text)
        return Decision(allowed=question.purpose == "commit")


@dataclass
class TurnArena(Arena):
    """Runs the programs in turns. What the model and the owner read counts as what the caller gets."""

    cortex: MotorCortex = field(kw_only=True)
    owner: Agreeable = field(kw_only=True)

    async def _execute(self, program, code, tools, places, store):
        ended = []
        watch = lambda event: ended.append(event) if isinstance(event, ExecutionEnded) else None  # noqa: E731
        folder = Folder(places.workspace, "ask")
        asked = len(self.owner.texts)
        async with self.cortex.turn(watch, workspace=folder) as turn:
            answer = await turn.execute_code(
                {
                    "code": code,
                    "intent": "commit" if program.commit else "show",
                    "context": {"given": "context"},
                    "sandbox_config": {"timeoutMs": round(program.timeout_s * 1000)},
                }
            )
        if not ended:
            return ExecutionOutcome(ok=False)
        outcome = ended[0].outcome
        read = [answer.text, json.dumps(answer.structured, ensure_ascii=False), *self.owner.texts[asked:]]
        below = "\n".join(answer.text.split("\n")[1:]) if outcome.ok else ""
        if not all(line.isprintable() for text in (below, *self.owner.texts[asked:]) for line in text.split("\n")):
            read.append("GOT a line that is not printable")
        if outcome.ok and len(below.split("\n")) > 10:
            read.append("GOT more than ten lines")
        logs = (*outcome.logs, *(LogEntry("log", text.replace(str(places.workspace), "/workspace")) for text in read))
        return replace(outcome, logs=logs)


async def judged(make_runtime, programs, root):
    servers = Servers()
    try:
        async with arena(make_runtime(settings()), servers, root) as place, AsyncExitStack() as stack:
            owner = Agreeable()
            cortex = MotorCortex(
                Settings(
                    home=root / "home",
                    energy=EnergySettings(cost_isolated=0),
                    execute=ExecuteSettings(guard=False, max_timeout_isolated_ms=LONGEST_MS),
                    # Nothing may be hidden by being redacted.
                    redaction=RedactionSettings(enabled=False),
                    tools=ToolSettings(max_questions_per_turn=1_000),
                ),
                owner=owner,
                runtime=place.runtime,
            )
            await stack.enter_async_context(cortex)
            parts = (place.runtime, place.servers, place.watcher, root, place.env_secret, place.signalled)
            found = await TurnArena(*parts, cortex=cortex, owner=owner).judge(programs)
    finally:
        servers.close()
    return found


@pytest.fixture(scope="module")
def behind_both_walls(request, tmp_path_factory):
    programs = wanted(request, test_the_property_of_a_program_with_files_holds_in_a_turn)
    return anyio.run(judged, DenoRuntime, programs, tmp_path_factory.mktemp("turns"))


@pytest.fixture(scope="module")
def behind_the_system_alone(request, tmp_path_factory):
    programs = wanted(request, test_the_property_of_a_program_with_files_holds_in_a_turn_without_denos_permissions)
    return anyio.run(judged, UnpermittedRuntime, programs, tmp_path_factory.mktemp("alone"))


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_the_property_of_a_program_with_files_holds_in_a_turn(program, behind_both_walls):
    judge(program, behind_both_walls)


@pytest.mark.parametrize("program", AUTHORITY, ids=name_of)
def test_the_property_of_a_program_with_files_holds_in_a_turn_without_denos_permissions(
    program, behind_the_system_alone
):
    judge(program, behind_the_system_alone, needs={Layer.LANDLOCK, Layer.SECCOMP})
