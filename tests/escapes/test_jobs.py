"""The attack programs of the door "later", as jobs of an agent: a turn of a real cortex asks for each with `later: true`,
and what the model reads of its record and of the signal of its end counts as what the caller gets."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

import anyio
import pytest

from cortex import MotorCortex, Settings
from cortex.contracts import ExecutionEnded
from cortex.jobs.jobs import MAX_SIGNAL_REPLY_BYTES
from cortex.settings.sections import EnergySettings, ExecuteSettings, RedactionSettings
from sandbox import DenoRuntime, ExecutionOutcome, LogEntry
from sandbox.jail.layers import Layer

from .arena import HOST_SECRET, Arena, Servers, UnpermittedRuntime, arena, settings
from .program import load
from .test_escapes import judge, name_of, wanted

PROGRAMS = [program for program in load() if program.kind == "later"]
AUTHORITY = [program for program in PROGRAMS if program.authority]


@dataclass
class JobArena(Arena):
    """Runs the programs as jobs. Another conversation has a job whose result is a secret."""

    cortex: MotorCortex = field(kw_only=True)
    signals: dict[str, object] = field(kw_only=True)

    async def _execute(self, program, code, tools, places, store):
        ended: list[ExecutionEnded] = []
        has_ended = anyio.Event()

        def watch(event):
            if isinstance(event, ExecutionEnded):
                ended.append(event)
                has_ended.set()

        given = {"purpose": program.name, "code": code, "timeout": round(program.timeout_s * 1000), "later": True}
        async with self.cortex.turn(watch, conversation="own") as turn:
            handle = json.loads(await turn.call("core.execute", given))["job"]
            with anyio.move_on_after(program.timeout_s + 30):
                await has_ended.wait()
                while handle not in self.signals:
                    await anyio.sleep(0.01)
            read = [await turn.call("core.execute", {"job": handle}), json.dumps(self.signals.get(handle))]
        if not ended:
            return ExecutionOutcome(ok=False)
        record = next(each for each in self.cortex.jobs.list() if each.handle == handle)
        if (record.ok, record.is_under_way, record.is_told) != (ended[0].outcome.ok, False, True):
            read.append("GOT a record that does not say how the job ended")
        if len(read[1]) > 8 * MAX_SIGNAL_REPLY_BYTES or HOST_SECRET in "".join(read):
            read.append("GOT more than a signal may hold")
        return replace(ended[0].outcome, logs=(*ended[0].outcome.logs, *(LogEntry("log", text) for text in read)))

    def _names(self, places):
        return {**super()._names(places), "STORE": str(self.cortex.settings.home / "state" / "store")}


async def judged(make_runtime, programs, root):
    servers, signals = Servers(), {}

    async def wake(signal):
        signals[signal.data["job"]] = dict(signal.data)

    try:
        async with arena(make_runtime(settings()), servers, root) as place, AsyncExitStack() as stack:
            cortex = MotorCortex(
                Settings.model_validate(
                    {
                        "home": root / "home",
                        "energy": EnergySettings(cost_isolated=0),
                        "execute": ExecuteSettings(guard=False, later=True, max_calls_per_turn=1_000),
                        # Nothing may be hidden by being redacted.
                        "redaction": RedactionSettings(enabled=False),
                        "neurons": {"max_wakes_per_hour": 1_000, "habits": {"enabled": False}},
                    }
                ),
                runtime=place.runtime,
                wake=wake,
            )
            await stack.enter_async_context(cortex)
            async with cortex.turn(conversation="other") as turn:
                other = {"purpose": "other", "code": f"return {json.dumps(HOST_SECRET)}", "later": True}
                handle = json.loads(await turn.call("core.execute", other))["job"]
                with anyio.fail_after(60):
                    while handle not in signals:
                        await anyio.sleep(0.01)
            parts = (place.runtime, place.servers, place.watcher, root, place.env_secret, place.signalled)
            found = await JobArena(*parts, cortex=cortex, signals=signals).judge(programs)
            left = [record for record in cortex.jobs.list() if record.is_under_way]
            assert left == []
    finally:
        servers.close()
    return found


@pytest.fixture(scope="module")
def behind_both_walls(request, tmp_path_factory):
    programs = wanted(request, test_the_property_of_a_program_holds_in_a_job)
    return anyio.run(judged, DenoRuntime, programs, tmp_path_factory.mktemp("jobs"))


@pytest.fixture(scope="module")
def behind_the_system_alone(request, tmp_path_factory):
    programs = wanted(request, test_the_property_of_a_program_holds_in_a_job_without_denos_permissions)
    return anyio.run(judged, UnpermittedRuntime, programs, tmp_path_factory.mktemp("alone"))


@pytest.mark.parametrize("program", PROGRAMS, ids=name_of)
def test_the_property_of_a_program_holds_in_a_job(program, behind_both_walls):
    judge(program, behind_both_walls)


@pytest.mark.parametrize("program", AUTHORITY, ids=name_of)
def test_the_property_of_a_program_holds_in_a_job_without_denos_permissions(program, behind_the_system_alone):
    judge(program, behind_the_system_alone, needs={Layer.LANDLOCK, Layer.SECCOMP})
