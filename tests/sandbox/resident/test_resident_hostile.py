"""Hostile resident programs: they attack the host by what they send, by what they leave running, by never ending."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest

from sandbox import DenoRuntime, ErrorType, ExecutionError, Resident, ResidentProgram, SignalAnswer
from sandbox.resident import batch as resident_batch, resident_process
from sandbox.resident.resident import MAX_RESTARTS
from sandbox.testing import FunctionTools
from tests.conftest import descendants, small

from .test_residents import resident, signals, wait_for

pytestmark = [
    pytest.mark.deno,
    pytest.mark.usefixtures("nothing_left"),
    pytest.mark.parametrize("anyio_backend", ["asyncio"]),
]

SEND = """
const core = Deno[Deno.internal].core;
const send = (frame) => {
  let bytes = new TextEncoder().encode((typeof frame === "string" ? frame : JSON.stringify(frame)) + "\\n");
  while (bytes.length > 0) bytes = bytes.subarray(core.writeSync(1, bytes));
};
const deep = (opening, times, closing = "]", inner = "1") => JSON.stringify({ ...answer, emitted: ["here"] })
  .replace('"here"', `["a",[${opening.repeat(times)}${inner}${closing.repeat(times)}]]`);
const answer = { type: "__answer__", batch: signal.data.batch, at: 0, cpu_us: 1, emitted: [], state: null };
"""
FIRST_BATCH = SEND.replace("signal.data.batch", "1")
# What the host may compute for one batch: a hundred times what it takes, so that a slow machine is no failure.
MOST_CPU_S = 6


def victim(attacks: Sequence[str]) -> str:
    """A program that has every attack in it, and is told by its signals which to make. One is enough for all of them."""
    made = ", ".join(f"{json.dumps(attack)}: async () => {{ {attack} }}" for attack in attacks)
    return f"{SEND} const attacks = {{ {made} }}; if (signal.data.attack) await attacks[signal.data.attack]();"


class Attacks:
    """A program that does what its signals say, and what became of the host."""

    def __init__(self, opened: Resident) -> None:
        self._opened = opened
        self.restarts = 0

    async def answer_to(self, attack: str, signals_behind: int = 1) -> SignalAnswer:
        """Attack with the first signal of a batch. Whatever it did, all others are answered as if it had not."""
        number = self._opened._batches + 1
        batch = [{"data": {"attack": attack, "batch": number}}, *[{"data": {}}] * signals_behind]
        start = time.thread_time()
        answered = await self._opened.handle(batch, {"kept": attack})
        assert time.thread_time() - start < MOST_CPU_S
        assert len(answered.answers) == len(batch)
        assert all(answer.ok for answer in answered.answers[1:])
        assert answered.state == {"kept": attack}
        again = await self._opened.handle([{"data": {}}], {"kept": 2})
        assert again.answers[0].ok, again.answers[0]
        assert again.state == {"kept": 2}
        self.restarts = answered.work.restarts + again.work.restarts
        return answered.answers[0]


@asynccontextmanager
async def attacks(*codes: str, **options: object) -> AsyncIterator[Attacks]:
    async with resident(victim(codes), FunctionTools({}), settings={"pool_size": 1}, **options) as opened:
        yield Attacks(opened)


def count_looks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    looks: list[object] = []
    look = resident_process.ResidentProcess._look
    monkeypatch.setattr(resident_process.ResidentProcess, "_look", lambda *each: (looks.append(each), look(*each)))
    return looks


FORGED = [
    ("{ ...answer, batch: 0 }", ErrorType.CRASH),
    ("{ ...answer, batch: answer.batch + 1 }", ErrorType.CRASH),
    ("{ ...answer, at: 1 }", ErrorType.CRASH),
    ("{ ...answer, at: -1 }", ErrorType.CRASH),
    ("{ ...answer, state: [] }", ErrorType.CRASH),
    ("{ ...answer, cpu_us: '1' }", ErrorType.CRASH),
    ("{ ...answer, cpu_us: 1.5 }", ErrorType.CRASH),
    ("{ ...answer, state: { a: 'x'.repeat(1 << 20) } }", ErrorType.LIMIT),
    ("{ ...answer, emitted: Array(17).fill(['a', 1]) }", ErrorType.LIMIT),
    ("{ ...answer, emitted: [['a', 'x'.repeat(20_000)]] }", ErrorType.LIMIT),
    ("{ ...answer, emitted: [['a']] }", ErrorType.CRASH),
    ("{ ...answer, emitted: ['ab'] }", ErrorType.CRASH),
    ("{ ...answer, emitted: [['Not a type', 1]] }", ErrorType.CRASH),
    ("{ ...answer, emitted: [[1, 1]] }", ErrorType.CRASH),
    ("deep('[', 300)", ErrorType.CRASH),
    ("deep('{\"a\":', 300, '}')", ErrorType.CRASH),
    ("deep('', 0, '', '{},'.repeat(100_000) + '0')", ErrorType.CRASH),
    (
        "{ type: '__failed__', batch: answer.batch, at: 7, cpu_us: 1, phase: 'run', name: '', message: '', stack: '' }",
        ErrorType.CRASH,
    ),
    ("{ type: '__result__', value: 1 }", ErrorType.CRASH),
    ("{ type: '__error__', phase: 'run', name: '', message: '', stack: '' }", ErrorType.CRASH),
    ("{ type: '__ready__', protocol: 1, deno: '2' }", ErrorType.CRASH),
    ("'not a frame'", ErrorType.CRASH),
    ("'x'.repeat(3 << 20)", ErrorType.LIMIT),
]


async def test_a_forged_frame_fails_its_signal_and_costs_its_process():
    codes = [f"send({frame}); await new Promise(() => setTimeout(() => {{}}, 10_000))" for frame, _ in FORGED]
    async with attacks(*codes) as attack:
        for code, (frame, kind) in zip(codes, FORGED, strict=True):
            answer = await attack.answer_to(code)
            assert answer.error is not None, frame
            assert answer.error.type == kind, frame
            assert len(answer.error.message) < 5_000
            assert attack.restarts == 1, frame


async def test_an_answer_that_comes_early_is_no_more_than_an_answer():
    code = f"{FIRST_BATCH} send({{ ...answer, emitted: [['early', 1]] }}); while (true) {{}}"
    for timeout_ms in (300, 10_000):  # more when the machine stood still for so long
        async with resident(code, timeout_ms=timeout_ms) as opened:
            batch = await opened.handle([{"data": 1}], {})
            if not batch.answers[0].ok:
                continue
            late = await opened.handle([{"data": 2}], {})  # for which it is still busy
            break
    assert batch.answers[0].emitted == (("early", 1),)
    assert late.answers[0].error is not None
    assert late.answers[0].error.type == ErrorType.TIMEOUT


async def test_more_answers_than_signals_are_not_taken_for_those_of_the_next_batch():
    codes = [
        # In one piece, so that they are there when the next batch comes.
        f"send([answer, ...Array(100).fill({more})].map((each) => JSON.stringify(each)).join('\\n'));"
        "await new Promise((done) => setTimeout(done, 60_000))"
        for more in ("answer", "{ ...answer, at: 1 }", "{ ...answer, batch: answer.batch + 1 }", "'half a line'")
    ]
    async with attacks(*codes) as attack:
        for code in codes:
            assert (await attack.answer_to(code, signals_behind=0)).ok
            assert attack.restarts == 1, code


async def test_answers_for_all_signals_from_the_first_are_its_own_word_and_no_more():
    code = f"{FIRST_BATCH} for (let at = 0; at < 3; at++) send({{ ...answer, at, emitted: [['a', at]] }}); while (true) {{}}"
    async with resident(code, timeout_ms=20_000) as opened:  # of which three fit into the life of a process
        batch = await opened.handle(signals(1, 2, 3), {})
    assert [answer.emitted for answer in batch.answers] == [(("a", 0),), (("a", 1),), (("a", 2),)]


FLOODS = [
    ("for (;;) send({ type: '__output__', level: 'log', data: 'x'.repeat(1000) })", ErrorType.LIMIT),
    ("for (;;) send({ type: '__debug__', message: '' })", ErrorType.LIMIT),
    ("for (let n = 0;; n++) send({ type: '__tool_call__', call_id: `${n}`, name: 'a', params: {} })", ErrorType.LIMIT),
    ("for (;;) core.writeSync(1, new Uint8Array(65536).fill(120))", ErrorType.LIMIT),
    ("for (;;) core.writeSync(2, new Uint8Array(65536).fill(120))", ErrorType.TIMEOUT),
    ("process.kill(Deno.pid, 'SIGSTOP')", ErrorType.TIMEOUT),
]


async def test_a_flood_or_a_silence_fails_its_signal_and_costs_its_process():
    # Time enough to come to the limit on a slow machine, and little where only time ends it.
    await flood(60_000, ErrorType.LIMIT)
    try:
        await flood(500, ErrorType.TIMEOUT)
    except AssertionError:  # nor are the others answered in time by a machine that stands still for so long
        await flood(10_000, ErrorType.TIMEOUT)


async def flood(timeout_ms: int, expected: ErrorType) -> None:
    async with attacks(*(code for code, _ in FLOODS), timeout_ms=timeout_ms) as attack:
        for code, kind in FLOODS:
            if kind is not expected:
                continue
            answer = await attack.answer_to(code)
            assert answer.error is not None, code
            assert answer.error.type == kind, code
            assert attack.restarts == 1, code


async def test_what_the_signals_of_a_batch_emit_together_has_a_limit():
    code = """
    state.seen = (state.seen ?? 0) + 1;
    for (let n = 0; n < 16; n++) emit("a", signal.data ? "x".repeat(16_000) : n);
    """
    async with resident(code) as opened:
        batch = await opened.handle(signals(1, 1, 1, 1, 1, 1, 0), {})
        assert [answer.ok for answer in batch.answers] == [True] * 4 + [False] * 2 + [True]
        assert batch.answers[4].error == ExecutionError(
            ErrorType.LIMIT, "Cannot emit: the signals of one batch may emit at most 1048576 bytes together"
        )
        assert batch.state == {"seen": 5}
        assert batch.work.restarts == 2
        assert all(answer.ok for answer in (await opened.handle(signals(1, 1, 1, 1), {})).answers)


async def test_one_signal_may_always_emit_what_its_own_limits_allow():
    code = 'for (let n = 0; n < 3; n++) emit("a", "x".repeat(500_000))'
    async with resident(code, max_emitted=3, max_signal_bytes=500_002) as opened:
        assert (await opened.handle(signals(1), {})).answers[0].ok


async def test_a_program_that_ends_its_process_with_every_signal_does_not_start_as_many():
    async with resident("Deno.exit(1)") as opened:
        batch = await opened.handle(signals(*range(50)), {})
        assert batch.work.restarts == MAX_RESTARTS + 1
        messages = [answer.error.message for answer in batch.answers if answer.error]
        assert len(messages) == 50
        assert messages[MAX_RESTARTS].startswith("The process ended by itself with exit code 1")
        why = f"It was not tried: the process had to be replaced 6 times, last because: {messages[MAX_RESTARTS]}"
        assert messages[-1] == why


async def test_code_cannot_hold_the_mark_of_its_own_end():
    code = 'emit("a", 1 as number); void "end of code";};  {'
    async with resident(code) as opened:
        batch = await opened.handle(signals(1), {})
    assert batch.answers[0].error.type in (ErrorType.SYNTAX, ErrorType.CRASH)


# To be read it takes many milliseconds.
LONG_CODE = "let a: number = 0;" + "a = a + 1;\n" * 4_000


async def test_code_that_is_not_loaded_in_time_is_a_program_that_hangs(monkeypatch):
    monkeypatch.setattr(resident_process, "LOAD_MS", 1)
    monkeypatch.setattr(resident_process, "LOAD_SIGNALS", 0)
    async with resident(LONG_CODE, FunctionTools({})) as opened:
        batch = await opened.handle(signals(1, 2), {"a": 1})
    assert [answer.error.type for answer in batch.answers if answer.error] == [ErrorType.TIMEOUT] * 2
    assert batch.work.restarts == 2
    assert batch.state == {"a": 1}


async def test_what_is_computed_while_code_is_loaded_is_paid_with_the_first_batch(monkeypatch):
    # A slow machine computes longer: with so much for free, only what is counted in spite of it can be more.
    monkeypatch.setattr(resident_process, "FREE_LOAD_CPU_MS", 60_000.0)
    async with resident("const a: number = 1") as opened:
        assert (await opened.handle(signals(1), {})).work.cpu_ms < 500  # what it takes by itself is free
    monkeypatch.setattr(resident_process, "FREE_LOAD_CPU_MS", -1_000.0)
    async with resident("const a: number = 1") as opened:
        assert (await opened.handle(signals(1), {})).work.cpu_ms > 1_000
        assert (await opened.handle(signals(1), {})).work.cpu_ms < 1_000
    monkeypatch.setattr(resident_process, "LOAD_TIMEOUT_MS", 1)
    async with resident(LONG_CODE) as opened:
        assert (await opened.handle(signals(1), {})).work.cpu_ms > 1_000


async def test_code_that_is_loaded_has_no_tools_yet():
    called = []

    async def touch(arguments):
        called.append(arguments)

    code = "const a: number = 1 }; await tools.touch({}); {"
    async with resident(code, FunctionTools({"touch": touch})) as opened:
        batch = await opened.handle(signals(1), {})
    assert not batch.answers[0].ok
    assert called == []


async def test_a_thread_that_goes_on_after_its_answer_costs_the_process(monkeypatch):
    monkeypatch.setattr(resident_process, "IDLE_LOOK_S", 0.05)
    monkeypatch.setattr(resident_process, "MAX_IDLE_CPU_S", 0.2)
    code = """
    const key = await crypto.subtle.importKey("raw", new Uint8Array(9), "PBKDF2", false, ["deriveBits"]);
    const terms = { name: "PBKDF2", hash: "SHA-512", salt: new Uint8Array(9), iterations: 2 ** 31 };
    if (signal.data) { void crypto.subtle.deriveBits(terms, key, 512); await new Promise((done) => setTimeout(done, 100)) }
    """
    async with resident(code) as opened:
        assert (await opened.handle(signals(1), {})).answers[0].ok
        await wait_for(lambda: not any("deno" in command for command in descendants().values()))
        batch = await opened.handle(signals(0), {})
    assert batch.answers[0].ok
    assert batch.work.restarts == 1
    assert batch.work.logs[0].text == "The process was replaced: it went on computing after its answer"
    assert batch.work.cpu_ms > 200  # that, too, is paid for


async def test_a_process_whose_calls_were_forgotten_stands_still_all_the_same(monkeypatch):
    # The answer to the call is waited for beside a timer, by a read that cannot be taken back. What goes on beside it
    # would go on for as long as the read lasts.
    monkeypatch.setattr(resident_process, "IDLE_LOOK_S", 0.05)
    monkeypatch.setattr(resident_process, "MAX_IDLE_CPU_S", 0.2)
    looks = count_looks(monkeypatch)
    code = """
    const goOn = () => {
      for (const end = Date.now() + 20; Date.now() < end;);
      AbortSignal.timeout(1).addEventListener("abort", goOn);
    };
    if (signal.data) { goOn(); void tools.slow({}); await new Promise((done) => setTimeout(done, 50)) }
    """

    async def slow(arguments):
        await anyio.sleep_forever()

    async with resident(code, FunctionTools({"slow": slow})) as opened:
        assert (await opened.handle(signals(1), {})).answers[0].ok
        await wait_for(lambda: len(looks) > 15)
        batch = await opened.handle(signals(0), {})
    assert batch.answers[0].ok
    assert batch.work.restarts == 0


async def test_a_process_that_rests_is_left_alone(monkeypatch):
    monkeypatch.setattr(resident_process, "IDLE_LOOK_S", 0.01)
    looks = count_looks(monkeypatch)
    async with resident("emit('pid', Deno.pid)") as opened:
        before = await opened.handle(signals(1), {})
        await wait_for(lambda: len(looks) > 5)
        after = await opened.handle(signals(1), {})
    assert before.answers[0].emitted == after.answers[0].emitted
    assert not after.work.restarted


async def test_a_process_that_does_not_read_what_it_asked_for_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(resident_batch, "LAST_WORDS_S", 0.2)

    async def large(arguments):
        return "x" * (4 << 20)

    call = "{ type: '__tool_call__', call_id: '9', name: 'large', params: {} }"
    code = f"{FIRST_BATCH} if (signal.data) return; send({call});"
    code = f"{code} const until = Date.now() + 300; while (Date.now() < until); send(answer); while (true) {{}}"
    async with resident(code, FunctionTools({"large": large})) as opened:
        batch = await opened.handle(signals(0), {})
        assert batch.answers[0].ok
        assert batch.work.restarts == 1
        assert (await opened.handle(signals(1), {})).answers[0].ok


async def test_a_process_that_does_not_take_its_signals_has_failed_at_the_first():
    code = f"{FIRST_BATCH} if (signal.data === 'first') {{ send(answer); while (true) {{}} }}"
    for timeout_ms in (500, 10_000):  # more when the machine stood still for so long
        async with resident(code, timeout_ms=timeout_ms, max_signal_bytes=1 << 20) as opened:
            await opened.handle(signals("first"), {})
            batch = await opened.handle(signals("x" * 500_000, 1), {})
        if [answer.ok for answer in batch.answers] == [False, True]:
            break
    assert [answer.ok for answer in batch.answers] == [False, True]
    assert batch.answers[0].error is not None
    assert batch.answers[0].error.type == ErrorType.TIMEOUT


async def test_memory_is_limited_to_what_the_program_may_have():
    code = "globalThis.all ??= []; for (let n = 0; n < 40; n++) all.push(new Uint8Array(1 << 20).fill(1));"
    async with resident(code, max_memory_mb=100) as opened:
        batch = await opened.handle(signals(1, 2, 3, 4), {})
    assert [answer.ok for answer in batch.answers] == [True, True, False, True]
    assert batch.answers[2].error is not None
    assert batch.answers[2].error.type == ErrorType.MEMORY


async def test_one_that_hangs_keeps_no_other_waiting():
    async with (
        DenoRuntime(small(pool_size=2)) as runtime,
        runtime.resident(ResidentProgram(code="while (true) {}", timeout_ms=60_000)) as hung,
        runtime.resident(ResidentProgram(code="emit('fine')")) as other,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(hung.handle, signals(1), {})
        for _ in range(20):
            assert (await other.handle(signals(1), {})).answers[0].emitted == (("fine", None),)
        tasks.cancel_scope.cancel()
