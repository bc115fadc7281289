"""Resident programs: real processes that answer signals, fail at them, and are replaced."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from sandbox import (
    DenoRuntime,
    ErrorType,
    ExecutionRequest,
    HostTools,
    NetworkPolicy,
    Resident,
    ResidentProgram,
    SandboxUnavailable,
    Tier,
)
from sandbox.resident import resident_process
from sandbox.testing import FunctionTools
from tests.conftest import descendants, small
from tests.sandbox.network.servers import Server, Talk

pytestmark = [pytest.mark.deno, pytest.mark.usefixtures("nothing_left")]

PID = "Deno.pid"
ON_ONE_LOOP = pytest.mark.parametrize("anyio_backend", ["asyncio"])
COUNT = "state.n = (state.n ?? 0) + 1; emit('counted', state.n);"


@asynccontextmanager
async def resident(
    code: str,
    tools: HostTools | None = None,
    network: NetworkPolicy | None = None,
    settings: dict[str, object] | None = None,
    **limits: object,
) -> AsyncIterator[Resident]:
    """A program in a runtime of its own."""
    program = ResidentProgram(code=code, **{"timeout_ms": 5000, **limits})
    async with (
        DenoRuntime(small(**{"pool_size": 0, **(settings or {})})) as runtime,
        runtime.resident(program, tools, network=network) as opened,
    ):
        yield opened


def signals(*data: object) -> list[dict[str, object]]:
    return [{"type": "given", "data": each} for each in data]


async def wait_for(condition, seconds=60):
    with anyio.fail_after(seconds):
        while not condition():
            await anyio.sleep(0.01)


async def test_signals_are_answered_in_order_and_the_state_goes_from_one_to_the_next_and_to_the_next_batch():
    code = "state.sum = (state.sum ?? 0) + signal.data; if (signal.data > 1) emit('sum', { of: state.sum });"
    async with resident(code) as opened:
        first = await opened.handle(signals(1, 2, 3), {"kept": [True]})
        assert [answer.emitted for answer in first.answers] == [(), (("sum", {"of": 3}),), (("sum", {"of": 6}),)]
        assert all(answer.ok and answer.error is None for answer in first.answers)
        assert first.state == {"kept": [True], "sum": 6}
        second = await opened.handle(signals(4), first.state)
        assert second.state == {"kept": [True], "sum": 10}
        assert (await opened.handle([], {"as": "it was"})).state == {"as": "it was"}
    assert first.work.ms > 0
    assert first.work.cpu_ms > 0
    assert not first.work.restarted


@ON_ONE_LOOP
async def test_code_is_typescript_compiled_once_and_the_process_stays_the_same():
    code = "interface Data { a: number }\nconst data = signal.data as Data;\nemit<string>('pid', [Deno.pid, data.a])"
    async with resident(code) as opened:
        answers = [await opened.handle(signals({"a": n}), {}) for n in range(3)]
    emitted = [batch.answers[0].emitted[0][1] for batch in answers]
    assert [a for _, a in emitted] == [0, 1, 2]
    assert len({pid for pid, _ in emitted}) == 1


@ON_ONE_LOOP
async def test_a_signal_that_fails_leaves_the_state_alone_emits_nothing_and_stops_nobody():
    code = f"{COUNT} if (signal.data === 'bad') throw new RangeError('bad data');\n"
    async with resident(code) as opened:
        batch = await opened.handle(signals("a", "bad", "b"), {})
    assert [answer.ok for answer in batch.answers] == [True, False, True]
    error = batch.answers[1].error
    assert error is not None
    assert (error.type, error.message) == (ErrorType.RUNTIME, "RangeError: bad data")
    assert error.stack is not None
    assert "code:1:" in error.stack
    assert batch.answers[1].emitted == ()
    assert batch.answers[2].emitted == (("counted", 2),)
    assert batch.state == {"n": 2}
    assert batch.work.restarts == 0


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("while (true) {}", ErrorType.TIMEOUT),
        ("Deno.exit(3)", ErrorType.CRASH),
        ("const all = []; for (;;) all.push(new Uint8Array(1 << 20).fill(1))", ErrorType.MEMORY),
    ],
    ids=["hang", "crash", "leak"],
)
async def test_the_rest_of_a_batch_goes_on_in_a_fresh_process(code, kind):
    code = f"emit('pid', {PID}); {COUNT} if (signal.data === 'bad') {{ {code} }}"
    # Little time only where that is what ends it; and more of it when the machine stood still for so long.
    for timeout_ms in (500, 10_000) if kind is ErrorType.TIMEOUT else (20_000,):
        if await rest_went_on(code, kind, timeout_ms):
            break
    else:
        raise AssertionError("the others were not answered")


async def rest_went_on(code: str, kind: ErrorType, timeout_ms: int) -> bool:
    async with resident(code, timeout_ms=timeout_ms, max_memory_mb=64) as opened:
        batch = await opened.handle(signals("a", "bad", "b", "c"), {})
        if [answer.ok for answer in batch.answers] != [True, False, True, True]:
            return False
        assert batch.answers[1].error is not None
        assert batch.answers[1].error.type == kind
        assert batch.state == {"n": 3}
        assert batch.work.restarts == 1
        before, *after = [answer.emitted[0][1] for answer in batch.answers if answer.ok]
        assert after[0] == after[1] != before
        return not (await opened.handle(signals("d"), {})).work.restarted


@ON_ONE_LOOP
async def test_the_time_limit_is_for_each_signal_and_not_for_the_batch():
    for times in (1, 20):  # retry with 20 times the time, in case the machine stalled
        code = f"await new Promise((done) => setTimeout(done, {80 * times}))"
        async with resident(code, timeout_ms=400 * times) as opened:
            batch = await opened.handle(signals(*range(6)), {})
        if all(answer.ok for answer in batch.answers):
            break
    assert all(answer.ok for answer in batch.answers)
    assert batch.work.ms > 400 * times


async def test_batches_that_come_at_the_same_time_wait_for_each_other():
    code = "const before = globalThis.busy; globalThis.busy = true; await null; emit('busy', before ?? false); busy = false"
    found = []
    async with resident(code) as opened, anyio.create_task_group() as tasks:

        async def give() -> None:
            batch = await opened.handle(signals(1, 2), {})
            found.extend(answer.emitted[0][1] for answer in batch.answers)

        for _ in range(4):
            tasks.start_soon(give)
    assert found == [False] * 8


@pytest.mark.parametrize("code", ["let a = ;", "const a: number = ;", "", "x" * 60_000], ids=len)
@ON_ONE_LOOP
async def test_code_that_cannot_be_loaded_is_told_by_every_answer(code):
    async with resident(code) as opened:
        for _ in range(2):
            batch = await opened.handle(signals(1, 2), {"a": 1})
            assert [answer.ok for answer in batch.answers] == [False, False]
            assert {answer.error.type for answer in batch.answers if answer.error} <= {
                ErrorType.SYNTAX,
                ErrorType.LIMIT,
            }
            assert batch.state == {"a": 1}
            assert batch.work.restarts == 0


async def test_tools_are_called_counted_and_named_and_their_limit_is_for_each_signal():
    async def add(arguments):
        return arguments["a"] + 1

    code = "let last = signal.data; for (let n = 0; n < 3; n++) last = await tools.add({ a: last }); state.last = last"
    tools = FunctionTools({"add": add})
    async with resident(code, tools, settings={"max_tool_calls": 3}) as opened:
        batch = await opened.handle(signals(1, 2), {})
        assert batch.state == {"last": 5}
        assert (batch.work.tool_calls, batch.work.tools) == (6, ("add",))
        again = await opened.handle(signals(1), {})
        assert again.answers[0].ok
        assert again.work.tool_calls == 3


@ON_ONE_LOOP
async def test_a_tool_that_was_not_lent_is_refused_and_named():
    code = "try { await tools.other({}) } catch { emit('refused') }"
    forged = 'Deno[Deno.internal].core.writeSync(1, new TextEncoder().encode(\'{"type":"__tool_call__","call_id":"9",'
    forged += '"name":"secret.read","params":{}}\\n\'));'
    async with resident(forged + code, FunctionTools({})) as opened:
        batch = await opened.handle(signals(1), {})
    assert batch.answers[0].emitted == (("refused", None),)
    assert batch.work.tools == ("secret.read",)


async def test_calls_that_nobody_waits_for_end_with_their_signal():
    ended, given = [], []

    async def slow(arguments):
        given.append(arguments)
        try:
            await anyio.sleep_forever()
        finally:
            ended.append(arguments)

    # With a timer the process reads for the answer while it goes on, without one it would stand still for it.
    code = """
    if (signal.data.last) { emit("done"); return }
    if (signal.data.timer) { setTimeout(() => {}, 1000); void tools.slow({ n: 1 }); await new Promise((r) => setTimeout(r, 20)) }
    else void tools.slow({ n: 2 });
    """
    async with resident(code, FunctionTools({"slow": slow})) as opened:
        for data in ({}, {"timer": 1}):
            batch = await opened.handle([{"data": data}, {"data": data}, {"data": {"last": 1}}], {})
            assert [answer.ok for answer in batch.answers] == [True] * 3
            assert batch.work.restarts == 0
            assert ended == given
        assert (await opened.handle([{"data": {"last": 1}}], {})).answers[0].emitted == (("done", None),)
    assert given
    assert batch.work.tool_calls == 2


@ON_ONE_LOOP
async def test_what_a_signal_has_left_running_is_not_heard_in_the_next():
    code = """
    const late = () => { state.late = true; emit("late"); console.log("late") };
    setTimeout(late, 1); setInterval(late, 1);
    void (async () => { for (let n = 0; n < 50; n++) await null; late() })();
    if (signal.data === "waits") await new Promise((done) => setTimeout(done, 30));
    """
    async with resident(code) as opened:
        batch = await opened.handle(signals(1, 2, 3), {})
        assert [answer.emitted for answer in batch.answers] == [()] * 3
        assert batch.state == {}
        waits = await opened.handle(signals("waits"), {})
        assert waits.state == {"late": True}  # its own timers do go off
        assert (await opened.handle(signals(1), {})).state == {}


@ON_ONE_LOOP
async def test_a_promise_that_nobody_catches_fails_its_own_signal():
    code = "if (signal.data === 'bad') void Promise.reject(new Error('lost')); emit('went')"
    async with resident(code) as opened:
        batch = await opened.handle(signals("bad", "good", "bad"), {})
        alone = await opened.handle(signals("good"), {})
    assert [answer.ok for answer in batch.answers] == [False, True, False]
    assert batch.answers[0].error is not None
    assert batch.answers[0].error.message == "lost"
    assert alone.answers[0].ok
    assert batch.work.restarts == 0


@ON_ONE_LOOP
async def test_a_name_that_does_not_exist_is_answered_with_those_that_do():
    async with resident("context.price") as opened:
        batch = await opened.handle(signals(1), {})
    assert batch.answers[0].error is not None
    expected = "ReferenceError: context is not defined. Globals that exist: signal, state, emit, tools, console,"
    assert batch.answers[0].error.message.startswith(expected)


@ON_ONE_LOOP
async def test_a_promise_that_nothing_will_settle_fails_at_once_and_costs_no_process():
    async with resident("await new Promise(() => {})", timeout_ms=60_000) as opened:
        batch = await opened.handle(signals(1, 2), {})
    assert [answer.error.message for answer in batch.answers if answer.error] == [
        "It waits for a promise that nothing will settle"
    ] * 2
    assert batch.work.restarts == 0


@ON_ONE_LOOP
async def test_logs_are_kept_and_bounded():
    code = "console.warn('seen', signal.data); if (signal.data === 'much') console.log('x'.repeat(40_000))"
    async with resident(code) as opened:
        few = await opened.handle(signals(1, 2), {})
        assert [(entry.level, entry.text) for entry in few.work.logs] == [("warn", "seen 1"), ("warn", "seen 2")]
        # Also when they do not fit into one frame.
        many = await opened.handle(signals(*["much"] * 300), {})
        assert all(answer.ok for answer in many.answers)
    assert sum(len(entry.text) for entry in many.work.logs) < 70_000
    assert ["not kept" in entry.text for entry in many.work.logs].count(True) == 1
    assert "not kept" in many.work.logs[-1].text


@ON_ONE_LOOP
async def test_more_output_than_a_run_may_print_fails_the_signal():
    async with resident("console.log('x'.repeat(signal.data))", settings={"max_output_bytes": 1000}) as opened:
        batch = await opened.handle(signals(900, 900, 2000, 1), {})
    assert [answer.ok for answer in batch.answers] == [True, True, False, True]
    assert batch.answers[2].error is not None
    assert batch.answers[2].error.type == ErrorType.LIMIT


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("state.a = 'é'.repeat(60)", "Cannot keep state: it has 128 bytes, more than 100"),
        ("for (let n = 0; n < 3; n++) emit('a', n)", 'Cannot emit "a": one signal may emit at most 2'),
        ("emit('a', 'x'.repeat(60))", 'Cannot emit "a": its data has 62 bytes, more than 50'),
        ("emit('Not a type')", 'TypeError: Cannot emit: a type is a text of small letters, digits, "_" and ".", 64'),
        ("emit('a', () => 1)", 'TypeError: Cannot emit "a" with data: a function'),
    ],
    ids=["state", "emitted", "data", "type", "no JSON"],
)
@ON_ONE_LOOP
async def test_a_limit_fails_the_signal_and_says_what_it_is(code, message):
    code = f"emit('b'); {code.replace('n < 3', 'n < 2')}" if "n < 3" in code else code
    limits = {"max_state_bytes": 100, "max_emitted": 2, "max_signal_bytes": 50}
    async with resident(f"if (signal.data) {{ {code} }}", **limits) as opened:
        batch = await opened.handle(signals(1, 0), {})
    assert batch.answers[0].error is not None
    assert batch.answers[0].error.message.startswith(message)
    assert batch.answers[0].emitted == ()
    assert batch.answers[1].ok
    assert batch.state == {}
    assert batch.work.restarts == 0


@ON_ONE_LOOP
async def test_a_signal_or_a_state_that_cannot_be_handed_in_fails_without_a_process():
    async with resident(COUNT, max_signal_bytes=100, max_state_bytes=100) as opened:
        batch = await opened.handle(signals("a", "x" * 2000, object(), "b"), {})
        assert [answer.ok for answer in batch.answers] == [True, False, False, True]
        assert batch.state == {"n": 2}
        messages = [answer.error.message for answer in batch.answers if answer.error]
        assert all(message.startswith("Cannot hand in the signal: ") for message in messages)
        large = await opened.handle(signals("a", "b"), {"a": "x" * 200})
        assert [answer.ok for answer in large.answers] == [False, False]
        assert large.answers[0].error is not None
        assert large.answers[0].error.message == "Cannot hand in the state: 208 bytes are more than 100"
        assert large.state == {"a": "x" * 200}


@ON_ONE_LOOP
async def test_a_process_that_dies_between_batches_is_replaced_and_counted():
    async with resident(COUNT) as opened:
        await opened.handle(signals(1), {})
        pid = opened._process._held[0].process.pid
        os.kill(pid, 9)
        await wait_for(lambda: pid not in descendants())
        batch = await opened.handle(signals(1), {"n": 5})
        assert batch.answers[0].emitted == (("counted", 6),)
        assert batch.work.restarts == 1
        assert "The process was replaced" in batch.work.logs[0].text
        assert not (await opened.handle(signals(1), {})).work.restarted


async def test_a_program_that_was_ended_starts_no_process_that_nobody_ends():
    async with DenoRuntime(small(pool_size=0)) as runtime, anyio.create_task_group() as tasks:
        late: list[str] = []

        async def give(opened: Resident) -> None:
            try:
                await opened.handle(signals("waits"), {})
            except SandboxUnavailable as error:
                late.append(str(error))

        code = "if (signal.data === 'waits') await new Promise((done) => setTimeout(done, 60_000))"
        async with runtime.resident(ResidentProgram(code=code, timeout_ms=60_000)) as opened:
            await opened.handle(signals(1), {})
            tasks.start_soon(give, opened)
            await wait_for(lambda: opened._turn.locked())
        await wait_for(lambda: late)
        await give(opened)
        assert late == ["Cannot start Deno: the program has been ended"] * 2
        await wait_for(lambda: not any("deno" in command for command in descendants().values()))


async def test_a_cancelled_batch_leaves_a_resident_that_still_answers():
    async with resident("if (signal.data) await new Promise((done) => setTimeout(done, 60_000)); " + COUNT) as opened:
        with anyio.move_on_after(0.2):
            await opened.handle(signals(1), {})
        batch = await opened.handle(signals(0), {"n": 1})
    assert batch.answers[0].emitted == (("counted", 2),)


@ON_ONE_LOOP
async def test_a_process_that_the_system_would_end_soon_is_replaced_without_a_word(monkeypatch):
    # Between batches, once it has computed its share of what the system gives to it: here, anything at all.
    monkeypatch.setattr(resident_process, "WORN_SHARE", 0)
    async with resident(f"emit('pid', {PID})") as opened:
        batches = [await opened.handle(signals(1), {}) for _ in range(3)]
    pids = [batch.answers[0].emitted[0][1] for batch in batches]
    assert len(set(pids)) == 3
    assert not any(batch.work.restarted for batch in batches)


@pytest.mark.parametrize(("timeout_ms", "most"), [(1, 256), (1_000, 155), (15_000, 10), (10**9, 1)])
def test_a_frame_holds_no_more_signals_than_fit_into_the_life_of_a_process(timeout_ms, most):
    assert resident_process.most_at_once(timeout_ms, cpu_s=311.0, cores=2) == most


@pytest.mark.parametrize(("timeout_ms", "load_ms"), [(100, 2_200), (1_000, 4_000), (15_000, 10_000)])
def test_loading_has_a_clock_in_proportion_to_that_of_a_signal(timeout_ms, load_ms):
    assert resident_process.load_timeout_ms(timeout_ms) == load_ms


@ON_ONE_LOOP
async def test_a_batch_of_more_signals_than_a_frame_holds_is_answered_whole(monkeypatch):
    monkeypatch.setattr(resident_process, "MAX_IN_FRAME", 4)
    async with resident(COUNT) as opened:
        batch = await opened.handle(signals(*range(10)), {})
    assert [answer.emitted[0][1] for answer in batch.answers] == list(range(1, 11))
    assert batch.state == {"n": 10}


@ON_ONE_LOOP
async def test_one_runtime_serves_residents_and_runs_side_by_side():
    async with (
        DenoRuntime(small(pool_size=2)) as runtime,
        runtime.resident(ResidentProgram(code=COUNT)) as one,
        runtime.resident(ResidentProgram(code=COUNT.replace("+ 1", "+ 2"))) as two,
    ):
        outcome = await runtime.execute(ExecutionRequest(code="return 1 + 1"))
        assert outcome.result == 2
        assert (await one.handle(signals(1), {})).state == {"n": 1}
        assert (await two.handle(signals(1), {})).state == {"n": 2}


async def test_no_process_is_an_error_of_the_caller_and_not_of_the_signal():
    async with DenoRuntime(small(pool_size=0)) as runtime, runtime.resident(ResidentProgram(code=COUNT)) as opened:
        runtime.stop("nothing may run")
        with pytest.raises(SandboxUnavailable, match="nothing may run"):
            await opened.handle(signals(1), {})
        with pytest.raises(SandboxUnavailable, match="nothing may run"):
            async with runtime.resident(ResidentProgram(code=COUNT)):
                pass
        runtime.allow()
        assert (await opened.handle(signals(1), {})).answers[0].ok
    with pytest.raises(SandboxUnavailable):
        await opened.handle(signals(1), {})


async def test_a_stop_in_the_middle_of_a_batch_blames_no_signal():
    async with DenoRuntime(small(pool_size=0)) as runtime:

        async def stop(arguments):
            runtime.stop("nothing may run")

        program = ResidentProgram(code="if (signal.data) await tools.stop({})")
        async with runtime.resident(program, FunctionTools({"stop": stop})) as opened:
            for data in ((1, 2), (0, 1, 0), (0, 1)):
                with pytest.raises(SandboxUnavailable, match=r"^nothing may run$"):
                    await opened.handle(signals(*data), {})
                runtime.allow()
            batch = await opened.handle(signals(0, 0), {})
    assert [answer.ok for answer in batch.answers] == [True, True]


@ON_ONE_LOOP
async def test_a_resident_of_a_runtime_that_is_not_open_is_a_mistake_of_the_program():
    with pytest.raises(RuntimeError, match="not open"):
        async with DenoRuntime(small()).resident(ResidentProgram(code=COUNT)):
            pass


# The network.


def fetching(server: Server, **policy: object) -> NetworkPolicy:
    return NetworkPolicy.model_validate({"allow": [server.url], **policy})


@pytest.fixture
def server():
    with Server({"/price": lambda talk: talk.reply(b'{"usd": 42}'), "/silent": Talk.wait_until_gone}) as server:
        yield server


async def test_a_network_program_fetches_what_its_policy_allows_and_tells_what_it_asked_for(server):
    code = """
    if (signal.data.elsewhere) { try { await fetch("https://elsewhere.example/") } catch (error) { emit("refused") } return }
    for (let n = 0; n < 2; n++) state.usd = (await (await fetch(signal.data.url)).json()).usd;
    """
    price = {"url": f"{server.url}/price"}
    policy = fetching(server, max_requests=2)
    async with resident(code, network=policy, tier=Tier.NETWORK) as opened:
        # Each signal makes as many requests as one signal may.
        batch = await opened.handle(signals(price, price, {"elsewhere": 1}), {})
        assert [answer.ok for answer in batch.answers] == [True] * 3
        assert batch.state == {"usd": 42}
        assert batch.answers[2].emitted == (("refused", None),)
        assert (batch.work.fetches, batch.work.fetched_bytes) == (4, 4 * len('{"usd": 42}'))
        assert batch.work.hosts == ("127.0.0.1", "elsewhere.example")
        again = await opened.handle(signals(price), {})
        assert (again.work.fetches, again.work.hosts) == (2, ("127.0.0.1",))


async def test_a_fetch_that_nobody_waits_for_ends_with_its_signal(server):
    code = "void fetch(signal.data + '/silent').catch(() => {}); await new Promise((done) => setTimeout(done, 20))"
    async with resident(code, network=fetching(server), tier=Tier.NETWORK) as opened:
        for _ in range(2):
            batch = await opened.handle(signals(server.url, server.url), {})
            assert [answer.ok for answer in batch.answers] == [True, True]
            assert batch.work.restarts == 0


@ON_ONE_LOOP
async def test_an_isolated_program_has_no_network(server):
    async with resident("await fetch(signal.data)", network=fetching(server)) as opened:
        batch = await opened.handle(signals(server.url), {})
    assert batch.answers[0].error is not None
    assert batch.answers[0].error.type == ErrorType.PERMISSION


@ON_ONE_LOOP
async def test_a_policy_whose_secret_is_missing_opens_nothing():
    rule = {"host": "example.com", "headers": {"authorization": "Bearer ${env:MISSING_SECRET}"}}
    with pytest.raises(SandboxUnavailable, match="MISSING_SECRET"):
        async with resident(COUNT, network=NetworkPolicy.model_validate({"allow": [rule]}), tier=Tier.NETWORK):
            pass
