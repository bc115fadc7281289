"""Attacks through the door "later", by a model or by the code of a job, with real Deno where code matters."""

from __future__ import annotations

import json
import re
from pathlib import Path

import anyio
import pytest

from cortex import Toolbox
from cortex.jobs.jobs import MAX_UNDER_WAY
from neurons import Signal
from tests.cortex.jobs.support import LATER, Patient, begin, cortex, look, until_ended
from tests.cortex.jobs.test_jobs import CHEAP, NO_SUCH_JOB

KEY = "sk-proj-" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7" * 2
MAIL = "anna.smith@example.com"


async def test_a_flood_of_jobs_is_bounded_by_their_number_and_costs_nothing_beyond(tmp_path: Path):
    runtime, told = Patient(), []
    sandbox = {"pool_size": 1, "max_concurrent": 8}
    async with cortex(tmp_path, runtime, sandbox=sandbox, energy=CHEAP) as place, place.turn() as turn:

        async def one() -> None:
            told.append(await turn.call("core.execute", LATER))

        async with anyio.create_task_group() as tasks:
            for _ in range(3 * MAX_UNDER_WAY):
                tasks.start_soon(one)
        begun = [text for text in told if text.startswith('{"job"')]
        refused = {text for text in told if not text.startswith('{"job"')}
        assert len(begun) == MAX_UNDER_WAY
        assert refused == {"EXECUTION_DENIED: 100 jobs are under way; wait until one has ended"}
        assert runtime.most_at_once <= 4
        assert len(place.jobs.list()) == MAX_UNDER_WAY
        assert place.energy.level() == pytest.approx(1 - 0.001 * MAX_UNDER_WAY)


async def test_a_flood_of_jobs_stops_at_the_calls_of_a_turn_and_at_the_floor_of_the_energy(tmp_path: Path):
    limits = {"later": True, "max_calls_per_turn": 5}
    async with cortex(tmp_path, Patient(), execute=limits) as place:
        async with place.turn() as turn:
            told = [await turn.call("core.execute", LATER) for _ in range(8)]
        assert [text.startswith('{"job"') for text in told] == [True] * 5 + [False] * 3
        for _ in range(8):
            async with place.turn() as turn:
                told = [await turn.call("core.execute", LATER) for _ in range(5)]
        assert all("Insufficient energy" in text for text in told)
        assert place.energy.level() >= 0.1 - 1e-9


@pytest.mark.parametrize(
    "code",
    [
        f"return {{ mail: '{MAIL}', key: '{KEY}' }}",
        f"throw new Error('{MAIL} {KEY}')",
        f"console.log('{MAIL} {KEY}'); throw new Error('x')",
        f"console.log('{MAIL}'); console.log('{KEY}')",
        f"return '{KEY} '.repeat(3_000)",
    ],
    ids=["returned", "thrown", "printed before", "printed", "cut"],
)
async def test_no_secret_of_a_job_is_on_disk_or_told(tmp_path: Path, code: str):
    told: list[Signal] = []

    async def wake(signal: Signal) -> None:
        told.append(signal)

    async with cortex(tmp_path, None, wake=wake) as place, place.turn(conversation="c") as turn:
        handle = await begin(turn, code=code, purpose=f"write to {MAIL} with {KEY}")
        text = await until_ended(place, handle, "c")
        with anyio.fail_after(60):
            while not told:
                await anyio.sleep(0.01)
    kept = b"".join(path.read_bytes() for path in (tmp_path / "state" / "jobs").glob("*.json"))
    audit = b"".join(path.read_bytes() for path in (tmp_path / "audit").glob("*.jsonl"))
    assert handle.encode() in kept
    for secret in (MAIL, KEY):
        assert secret not in text
        assert secret not in json.dumps(told[0].data)
        assert secret.encode() not in kept
        assert secret.encode() not in audit
    assert not re.search(rb"sk-proj-\w", kept)  # nor a part of it


async def test_a_job_that_never_yields_does_not_outlive_the_kill_switch(tmp_path: Path):
    told: list[Signal] = []

    async def wake(signal: Signal) -> None:
        told.append(signal)

    toolbox, begun = Toolbox(), anyio.Event()

    @toolbox.tool
    async def begin_now() -> None:
        """The code runs."""
        begun.set()

    sandbox = {"pool_size": 1, "max_concurrent": 2}
    async with cortex(tmp_path, None, sandbox=sandbox, wake=wake, toolbox=toolbox) as place:
        async with place.turn() as turn:
            running = await begin(turn, code="await tools.begin_now({}); while (true) {}")
            waiting = await begin(turn, code="return 1")
        with anyio.fail_after(60):
            await begun.wait()
        place.switch.turn_on("a test", by="owner")
        with anyio.fail_after(60):
            assert "EXECUTION_" in await until_ended(place, running)
            assert (await until_ended(place, waiting)).startswith("EXECUTION_DENIED: Kill switch is on since ")
        assert place.energy.level() == pytest.approx(0.95)
        place.switch.turn_off("a test", by="owner")
        await anyio.sleep(0.3)
        assert {record.is_under_way for record in place.jobs.list()} == {False}  # nothing runs again by itself
        assert told == []


@pytest.mark.parametrize(
    "path", ["job-../../state/energy", "../jobs/{}", "{}/../{}", "jobs/{}", "{}.json", "job-{}\0", "/{}", "%2e%2e/{}"]
)
@pytest.mark.parametrize("cancel", [False, True])
async def test_a_handle_that_is_a_path_leads_to_no_job_and_no_file(tmp_path: Path, path: str, cancel: bool):
    async with cortex(tmp_path, Patient()) as place, place.turn() as turn:
        handle = await begin(turn)
        read: list[str] = []
        storage = place.jobs._records._storage
        place.jobs._records._storage = Noted(storage, read)
        given = path.replace("{}", handle.removeprefix("job-"))
        text = await turn.call("core.execute", {"job": given, "cancel": cancel})
        place.jobs._records._storage = storage
        assert text == NO_SUCH_JOB or text.startswith("EXECUTION_DENIED: core.execute")
        assert read == []  # it is not even looked for
        assert json.loads(await look(place, handle))["job"] == handle


class Noted:
    """A storage that notes what is read."""

    def __init__(self, storage: object, read: list[str]) -> None:
        self._storage, self._read = storage, read

    def read(self, key: str) -> object:
        self._read.append(key)
        return self._storage.read(key)

    def __getattr__(self, name: str) -> object:
        return getattr(self._storage, name)


async def test_a_request_to_cancel_that_another_program_planted_names_only_a_job_of_this_process(tmp_path: Path):
    """The owner's programs can write to the home; what is no handle there does no harm."""
    folder = tmp_path / "state" / "cancels"
    async with cortex(tmp_path, Patient()) as place, place.turn() as turn:
        handle = await begin(turn)
        folder.mkdir(exist_ok=True)
        for name in ("x", "0" * 32, "..", "-"):
            (folder / f"{name}.json").write_text("{}" if name != "x" else "no JSON")
        place.jobs._records.ask_to_cancel(handle)
        assert "The owner cancelled the job" in await until_ended(place, handle)
