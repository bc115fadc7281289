"""Resident programs on random walks against a model: each signal has its own answer and its own state."""

from __future__ import annotations

import inspect
import random
from pathlib import Path
from typing import Any

import anyio
import pytest

from sandbox import BatchAnswer, DenoRuntime, ErrorType, Resident, ResidentProgram, SandboxUnavailable, Work
from sandbox.resident.resident import MAX_RESTARTS
from sandbox.testing import FunctionTools, ScriptedResidents
from tests.conftest import small

from .test_residents import resident, signals

on_one_loop = pytest.mark.parametrize("anyio_backend", ["asyncio"])

MAX_EMITTED = 3
PROGRAM = """
const { op, n } = signal.data;
state.sum = (state.sum ?? 0) + n;
state.seen = [...(state.seen ?? []), op].slice(-5);
for (let count = 0; count < n; count++) emit("step", { op, sum: state.sum, count });
if (op === "throw") throw new RangeError("as asked");
if (op === "lose") void Promise.reject(new Error("as asked"));
if (op === "wait") await new Promise((done) => setTimeout(done, 1));
if (op === "ask") state.sum += await tools.one({});
if (op === "forget") { void tools.never({}); setTimeout(() => emit("late"), 1) }
if (op === "large") state.large = "x".repeat(20_000);
if (op === "odd") state.odd = () => 1;
if (op === "exit") Deno.exit(1);
if (op === "settle") await new Promise(() => {});
"""
FAILS = {"throw", "lose", "large", "odd", "exit", "settle"}


def expected(data: dict[str, Any], state: dict[str, Any]) -> tuple[list[tuple[str, Any]] | None, dict[str, Any]]:
    """What one signal emits and the state that it leaves, or None and the state as it was."""
    op, n = data["op"], data["n"]
    if op in FAILS or n > MAX_EMITTED:
        return None, state
    after = {**state, "sum": state.get("sum", 0) + n, "seen": [*state.get("seen", []), op][-5:]}
    emitted = [("step", {"op": op, "sum": after["sum"], "count": count}) for count in range(n)]
    if op == "ask":
        after["sum"] += 1
    return emitted, after


def walk(seed: int) -> list[list[dict[str, Any]]]:
    """Random batches of signals. Few signals in each kill their process: more would end the whole batch."""
    chance = random.Random(seed)
    batches = []
    for _ in range(6):
        batch, exits = [], 0
        for _ in range(chance.randrange(1, 12)):
            op = chance.choice(["keep", "keep", "wait", "ask", "forget", *sorted(FAILS)])
            exits += op == "exit"
            batch.append({"op": "keep" if exits > MAX_RESTARTS else op, "n": chance.randrange(MAX_EMITTED + 2)})
        batches.append(batch)
    return batches


async def follow(opened: Resident, batches: list[list[dict[str, Any]]]) -> None:
    state: dict[str, Any] = {}
    for batch in batches:
        answered = await opened.handle(signals(*batch), state)
        assert len(answered.answers) == len(batch)
        for data, answer in zip(batch, answered.answers, strict=True):
            emitted, state = expected(data, state)
            assert answer.ok == (emitted is not None), (data, answer)
            assert list(answer.emitted) == (emitted or []), data
        assert answered.state == state
        assert answered.work.restarts == sum(data["op"] == "exit" and data["n"] <= MAX_EMITTED for data in batch)


async def one(arguments: dict[str, Any]) -> int:
    return 1


async def never(arguments: dict[str, Any]) -> None:
    await anyio.sleep_forever()


@pytest.mark.deno
@pytest.mark.usefixtures("nothing_left")
async def test_a_walk_through_everything_that_signals_do_goes_as_its_model_says(anyio_backend):
    tools = FunctionTools({"one": one, "never": never})
    seed = ["asyncio", "trio"].index(anyio_backend)
    async with resident(PROGRAM, tools, settings={"pool_size": 1}, max_emitted=MAX_EMITTED) as opened:
        await follow(opened, walk(seed))


@pytest.mark.soak
@pytest.mark.deno
async def test_many_walks(anyio_backend):
    tools = FunctionTools({"one": one, "never": never})
    for seed in range(60):
        async with resident(PROGRAM, tools, settings={"pool_size": 2}, max_emitted=MAX_EMITTED) as opened:
            await follow(opened, walk(100 + seed))


@pytest.mark.soak
@pytest.mark.deno
@on_one_loop
async def test_memory_is_flat_over_many_signals():
    async with resident("state.n = (state.n ?? 0) + 1; emit('n', { n: state.n })") as opened:
        state = await give_many(opened, 50_000, {})
        before_mb = memory_mb(opened)
        state = await give_many(opened, 200_000, state)
        assert memory_mb(opened) - before_mb < 10
    assert state["n"] >= 250_000


async def give_many(opened: Resident, count: int, state: dict[str, Any]) -> dict[str, Any]:
    for _ in range(0, count, 64):
        batch: BatchAnswer = await opened.handle(signals(*range(64)), state)
        state = batch.state
    return state


def memory_mb(opened: Any) -> float:
    pid = opened._process._held[0].process.pid
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 2**20


# The wall is around these processes as around all others.


@pytest.mark.deno
@pytest.mark.usefixtures("nothing_left")
@on_one_loop
async def test_a_program_that_stays_is_behind_the_same_wall():
    code = """
    const tries = {
      file: () => Deno.readTextFileSync("/etc/passwd"),
      folder: () => [...Deno.readDirSync("/")],
      environment: () => Deno.env.get("HOME"),
      network: () => Deno.connect({ hostname: "127.0.0.1", port: 1 }),
      program: () => new Deno.Command("/bin/true").outputSync(),
    };
    await tries[signal.data]();
    """
    names = ["file", "folder", "environment", "network", "program"]
    async with resident(code) as opened:
        batch = await opened.handle(signals(*names), {})
    kinds = {name: answer.error and answer.error.type for name, answer in zip(names, batch.answers, strict=True)}
    assert kinds == dict.fromkeys(names, ErrorType.PERMISSION)


@pytest.mark.deno
@pytest.mark.usefixtures("nothing_left")
@on_one_loop
async def test_what_a_batch_computed_is_told_and_not_told_again():
    code = "let sum = 0; for (let n = 0; n < signal.data; n++) sum += Math.sqrt(n); globalThis.sum = sum"
    async with resident(code) as opened:
        await opened.handle(signals(1), {})
        much = await opened.handle(signals(100_000_000), {})
        little = await opened.handle(signals(1), {})
    assert much.work.cpu_ms > 50
    assert little.work.cpu_ms < much.work.cpu_ms / 2


# The fake for the tests of others.


async def test_the_fake_plays_a_program_as_a_real_one_would():
    async def play(signal: dict[str, Any], state: dict[str, Any], emit: Any) -> None:
        state["n"] = state.get("n", 0) + 1
        emit("seen", signal["data"])
        if signal["data"] == "bad":
            raise ValueError("as asked")
        if signal["data"] == "slow":
            raise TimeoutError("too slow")

    hosts = ScriptedResidents(play, work=Work(cpu_ms=1.5))
    program = ResidentProgram(code="anything")
    async with hosts.resident(program) as opened:
        batch = await opened.handle(signals("a", "bad", "slow", "b"), {"n": 1})
    assert [answer.ok for answer in batch.answers] == [True, False, False, True]
    assert [answer.error.type for answer in batch.answers if answer.error] == [ErrorType.RUNTIME, ErrorType.TIMEOUT]
    assert [answer.emitted for answer in batch.answers] == [(("seen", "a"),), (), (), (("seen", "b"),)]
    assert batch.state == {"n": 3}
    assert batch.work == Work(cpu_ms=1.5)
    assert (hosts.opened, hosts.closed) == ([program], [program])
    assert [len(given) for _, given in hosts.batches] == [4]


async def test_the_fake_can_have_no_process():
    hosts = ScriptedResidents({"known": lambda signal, state, emit: None})
    async with hosts.resident(ResidentProgram(code="known")) as opened:
        hosts.unavailable = "no process"
        with pytest.raises(SandboxUnavailable, match="no process"):
            await opened.handle(signals(1), {})
    with pytest.raises(SandboxUnavailable, match="no process"):
        async with hosts.resident(ResidentProgram(code="known")):
            pass


def test_the_real_runtime_and_the_fake_are_asked_in_the_same_way():
    assert list(inspect.signature(DenoRuntime(small()).resident).parameters) == list(
        inspect.signature(ScriptedResidents({}).resident).parameters
    )
