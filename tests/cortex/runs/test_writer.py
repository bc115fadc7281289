"""What is kept of runs: by a whole cortex, with real processes where code has to run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from typing import Any

import anyio
import pytest

from cortex import Settings, Toolbox
from cortex.audit import AuditError
from cortex.contracts import AskedBy, ExecutionEnded, RunCode, RunCodeIntent, Trace, asked_by
from cortex.motor_cortex import MotorCortex
from cortex.redaction import Redactor
from cortex.runs import ObservedRun, RunFiles, RunReader, RunWriter, standing
from cortex.runs.ended_run import LOG_HEAD, LOG_TAIL
from cortex.runs.making import cut_text
from cortex.runs.recording import MAX_RECORDING_BYTES
from cortex.settings.sections import RedactionSettings, RunsSettings
from cortex.tools import Decision, ScriptedOwner
from sandbox import ErrorType, ExecutionError, ExecutionOutcome, LogEntry, Metrics, Tier, ToolError
from sandbox.testing import ScriptedRuntime
from tests.cortex.runs.support import all_bytes, keeping_cortex, reader_of
from tests.sandbox.network.servers import Server

SECRET = "ada.lovelace@secret.example"
OK = ExecutionOutcome(ok=True, result=1)
RUN = {"purpose": "look", "code": "return 1"}


async def ran(home, outcomes=(OK,), arguments: Any = RUN, **sections: Any) -> list[Any]:
    """Run once for each outcome, and read what is kept, oldest first."""
    async with keeping_cortex(home, outcomes, **sections) as cortex, cortex.turn() as turn:
        for _ in outcomes:
            await turn.call("core_execute", arguments)
    return reader_of(home).after()


def logs(*texts: str) -> tuple[LogEntry, ...]:
    return tuple(LogEntry("log", text, float(at)) for at, text in enumerate(texts))


async def test_a_run_is_kept_with_what_the_audit_and_the_outcome_say(tmp_path):
    metrics = Metrics(startup_ms=1, execution_ms=20, total_ms=24, cpu_ms=3, peak_memory_mb=40, level="full")
    outcome = ExecutionOutcome(ok=True, result=[1], logs=logs("a"), metrics=metrics)
    token = asked_by.set(AskedBy("loop", "call_7", "0" * 32))
    try:
        async with keeping_cortex(tmp_path, [outcome]) as cortex, cortex.turn(conversation="mine") as turn:
            await turn.call("core_execute", {**RUN, "expectedOutput": "a list"})
    finally:
        asked_by.reset(token)
    [one] = reader_of(tmp_path).after()
    assert (one.id, one.turn, one.call) == (f"{turn.id}-1", turn.id, 1)
    assert (one.outcome, one.reply_code, one.error_type) == ("ok", "OK", None)
    assert (one.purpose, one.expected_output, one.tier, one.reply, one.reply_bytes) == (
        *("look", "a list", "isolated", "[1]", 3),
    )
    assert (one.startup_ms, one.queue_ms, one.execution_ms, one.total_ms, one.cpu_ms) == (1, 3, 20, 24, 3)
    assert (one.peak_memory_mb, one.wall) == (40, "full")
    assert (one.origin, one.conversation, one.model_call_id, one.trace_id) == ("loop", "mine", "call_7", "0" * 32)
    assert (one.host_pid, one.host_started is not None) == (os.getpid(), True)
    assert [(entry.text, round(entry.at_ms - one.before_ms, 3)) for entry in one.logs] == [("a", 4.0)]
    records = {record.kind: record for record in cortex.audit.records()}
    intent, execution, kept = records["intent"], records["execution"], records["details"]
    assert (intent.facts["host"], intent.facts["host_started"]) == (one.host_pid, one.host_started)
    assert (one.cost, one.level) == (execution.facts["cost"], execution.facts["level"])
    assert (kept.facts["run"], kept.facts["details_hash"], one.audit) == (one.id, one.hash, kept.seq)
    assert kept.seq > execution.seq
    assert standing(one, cortex.audit) == "matches"
    assert cortex.audit.verify().ok


async def test_runs_are_private_and_a_line_each_in_the_file_of_the_day(tmp_path):
    kept = await ran(tmp_path, [OK, OK])
    [path] = (tmp_path / "runs").glob("*.jsonl")
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    assert len(path.read_bytes().splitlines()) == len(kept) == 2


async def test_with_facts_no_text_is_kept_and_with_off_nothing(tmp_path):
    error = ExecutionError(ErrorType.RUNTIME, "zebra 1", stack="zebra 2", where="at line 3, column 1: zebra 3")
    outcome = ExecutionOutcome(ok=False, error=error, logs=logs("zebra 4"))
    given = {**RUN, "expectedOutput": "zebra 5", "context": {"a": "zebra 6"}}
    [one] = await ran(tmp_path / "facts", [outcome], given, runs={"keep": "facts", "keep_arguments": True})
    assert (one.keep, one.reply, one.logs, one.error, one.recording, one.seed) == ("facts", None, (), None, None, None)
    assert (one.outcome, one.error_type, one.reply_bytes > 0) == ("error", "RuntimeError", True)
    assert b"zebra" not in all_bytes(tmp_path / "facts" / "runs")
    assert await ran(tmp_path / "off", [outcome], given, runs={"keep": "off"}) == []
    assert not (tmp_path / "off" / "runs").exists()


async def test_a_text_is_cut_to_the_limit_of_the_setting_and_says_so(tmp_path):
    error = ExecutionError(ErrorType.RUNTIME, "é" * 5_000, stack="s" * 5_000, where="at line 12, column 1: x")
    outcome = ExecutionOutcome(ok=False, error=error, logs=logs("l" * 9_000, "m" * 9_000))
    [one] = await ran(tmp_path, [outcome], runs={"max_text_bytes": 2_000})
    assert len(one.reply.encode()) <= 2_000
    assert one.reply.endswith("(cut)")
    assert one.reply_bytes > 2_000
    assert len(one.error.message.encode()) + len(one.error.stack.encode()) <= 250
    assert one.error.line == 12
    assert sum(len(entry.text.encode()) for entry in one.logs) <= 1_000


async def test_of_many_log_lines_the_first_and_the_last_are_kept_and_the_others_counted(tmp_path):
    many = logs(*(f"line {number}" for number in range(1_000)))
    [one] = await ran(tmp_path, [ExecutionOutcome(ok=True, result=1, logs=many)])
    texts = [entry.text for entry in one.logs]
    assert texts == [f"line {number}" for number in [*range(LOG_HEAD), *range(1_000 - LOG_TAIL, 1_000)]]
    assert (one.logs_head, one.logs_left_out) == (LOG_HEAD, 1_000 - LOG_HEAD - LOG_TAIL)


async def test_secrets_that_the_redactor_knows_never_reach_the_folder(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool(policy="allow")
    async def find(who: str) -> dict[str, str]:
        if who == "nobody":
            raise ToolError(f"no {SECRET}", code="not_found")
        return {"mail": SECRET, "password": "hunter2hunter2", SECRET: "x"}

    class Calling(ScriptedRuntime):
        async def execute(self, request, tools=None, **given):
            for who in (SECRET, "nobody"):
                with contextlib.suppress(ToolError):
                    await tools.call("find", {"who": who})
            return await super().execute(request, tools, **given)

    error = ExecutionError(ErrorType.RUNTIME, SECRET, stack=SECRET * 9, where=f"at line 1, column 1: '{SECRET}'")
    outcome = ExecutionOutcome(ok=False, error=error, logs=logs(SECRET, "x" * 15_990 + SECRET))
    settings = Settings(home=tmp_path, neurons={"owner": {"console": False}}, runs={"keep_arguments": True})
    given = {"purpose": f"ask {SECRET}", "code": "await tools.find({})", "context": {"mail": [SECRET]}}
    cortex = MotorCortex(settings, runtime=Calling([outcome]), toolbox=toolbox)
    async with cortex, cortex.turn(conversation=SECRET.replace("@", "-")) as turn:
        reply = await turn.call("core_execute", given)
    [one] = reader_of(tmp_path).after()
    data = all_bytes(tmp_path / "runs")
    assert SECRET.encode() not in data
    assert SECRET[:12].encode() not in data.replace(SECRET.replace("@", "-").encode(), b"")
    assert b"hunter2" not in data
    assert one.reply == reply
    assert [call.ok for call in one.calls] == [True, False]
    assert '"mail":"[EMAIL_1]"' in one.calls[0].result
    assert reader_of(tmp_path).recording(one).calls[0].arguments == {"who": "[EMAIL_1]"}


async def test_a_secret_that_only_the_log_has_gets_no_token_that_the_model_could_name(tmp_path):
    settings = Settings(home=tmp_path, neurons={"owner": {"console": False}}, redaction={"restore": True})
    redactor = Redactor(settings.redaction)
    outcome = ExecutionOutcome(ok=True, result="b@b.example", logs=logs("a@a.example and b@b.example"))
    cortex = MotorCortex(settings, runtime=ScriptedRuntime([outcome]))
    async with cortex, cortex.turn(redactor=redactor) as turn:
        assert await turn.call("core_execute", RUN) == '"[EMAIL_1]"'
    [one] = reader_of(tmp_path).after()
    assert one.logs[0].text == "[EMAIL_2] and [EMAIL_1]"
    assert redactor.restored(["[EMAIL_1]", "[EMAIL_2]"]) == ["b@b.example", "[EMAIL_2]"]


@pytest.mark.deno
async def test_calls_of_tools_and_of_the_store_have_their_times_sizes_and_the_owners_wait(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool(policy="allow")
    async def stock(item: str) -> int:
        return len(item)

    @toolbox.tool(policy="ask")
    async def order(item: str) -> str:
        return item

    class Slow(ScriptedOwner):
        async def decide(self, question):
            await anyio.sleep(0.05)
            return await super().decide(question)

    code = """console.log('first');
    const n = await tools.stock({ item: 'pear' });
    const done = await tools.order({ item: 'fig' });
    try { await tools.order({ item: 'plum' }) } catch {}
    await store.set('n', n); console.log('last', n, done); return n"""
    settings = Settings(home=tmp_path, neurons={"owner": {"console": False}}, runs={"keep_arguments": True})
    owner = Slow([Decision(allowed=True), Decision(allowed=False)])
    async with MotorCortex(settings, toolbox=toolbox, owner=owner) as cortex, cortex.turn(conversation="x") as turn:
        assert await turn.call("core_execute", {"purpose": "p", "code": code}) == "4"
    [one] = reader_of(tmp_path).after()
    assert [(call.kind, call.name, call.ok, call.code) for call in one.calls] == [
        ("tool", "stock", True, None),
        ("tool", "order", True, None),
        ("tool", "order", False, "denied"),
        ("store", "set", True, None),
    ]
    first, asked, refused, _ = one.calls
    assert (first.bytes_in, first.bytes_out, first.asked_ms) == (15, 1, None)
    assert (first.arguments, first.result) == ('{"item":"pear"}', "4")
    assert asked.asked_ms >= 49
    assert refused.asked_ms >= 49
    assert asked.ms >= asked.asked_ms
    offsets = [call.start_ms for call in one.calls]
    assert offsets == sorted(offsets)
    took_ms = (one.ended_at - one.at) * 1000
    assert all(0 <= call.start_ms <= took_ms + 1 for call in one.calls)
    assert [entry.text for entry in one.logs] == ["first", "last 4 fig"]
    assert one.logs[0].at_ms < asked.start_ms < one.logs[1].at_ms
    assert (one.tools_lent, one.tools_lent_count, one.tool_calls) == (("stock", "order"), 2, 3)
    calls = [record.facts for record in cortex.audit.records() if record.kind == "tool_call"]
    assert [(facts["call"], "asked_ms" in facts) for facts in calls] == [(1, False), (1, True), (1, True)]


async def test_of_many_calls_the_first_are_kept_and_the_others_counted(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool(policy="allow")
    async def stock() -> int:
        return 1

    class Calling(ScriptedRuntime):
        async def execute(self, request, tools=None, **given):
            for _ in range(7):
                await tools.call("stock", {})
            return await super().execute(request, tools, **given)

    for most, kept in ((3, 3), (200, 7)):
        settings = Settings(home=tmp_path / str(most), neurons={"owner": {"console": False}}, runs={"max_calls": most})
        async with MotorCortex(settings, runtime=Calling([OK]), toolbox=toolbox) as cortex, cortex.turn() as turn:
            await turn.call("core_execute", {"purpose": "p", "code": "await tools.stock({})"})
        [one] = reader_of(settings.home).after()
        assert (len(one.calls), one.calls_left_out) == (kept, 7 - kept)
        assert all(call.arguments is None and call.result is None for call in one.calls)


@pytest.mark.deno
async def test_requests_have_their_times_redirects_and_refusals_and_no_query(tmp_path):
    with Server() as server:
        server.routes["/old"] = lambda talk: talk.redirect("/new?token=abc")
        server.routes["/new"] = lambda talk: talk.reply(b"12345")
        code = f"""const a = await (await fetch('{server.url}/old?key=zebra')).text();
        try {{ await fetch('https://other.example/path?key=zebra') }} catch {{}}
        try {{ await fetch('nonsense:zebra') }} catch {{}}
        return a"""
        network = {"allow": [{"host": "127.0.0.1", "ports": [server.port], "http": True, "private": True}]}
        settings = Settings(home=tmp_path, neurons={"owner": {"console": False}}, sandbox={"network": network})
        async with MotorCortex(settings) as cortex, cortex.turn() as turn:
            given = {"purpose": "p", "code": code, "tier": "network"}
            assert await turn.call("core_execute", given) == '"12345"'
    [one] = reader_of(tmp_path).after()
    old, new, other, nonsense = one.requests
    assert (old.method, old.url, old.status, old.bytes) == ("GET", f"{server.url}/old", 302, 0)
    assert (new.url, new.status, new.bytes, new.redirected_from) == (f"{server.url}/new", 200, 5, f"{server.url}/old")
    assert (other.url, other.status, other.refused.partition(":")[0]) == ("https://other.example/path", None, "denied")
    assert (nonsense.status, nonsense.refused.partition(":")[0]) == (None, "denied")
    assert old.query_hash != new.query_hash
    assert old.start_ms <= new.start_ms <= other.start_ms
    assert b"zebra" not in (tmp_path / "runs" / f"{one.position.partition(':')[0]}.jsonl").read_bytes().replace(
        b"nonsense:zebra", b""
    )
    assert reader_of(tmp_path).recording(one).exchanges[1].body == b"12345"


@pytest.mark.deno
async def test_what_a_run_drew_by_chance_can_be_drawn_again_from_its_seed(tmp_path):
    code = "return [Math.random(), Math.random(), Date.now()]"
    async with keeping_cortex(tmp_path) as cortex, cortex.turn() as turn:
        first = json.loads(await turn.call("core_execute", {"purpose": "p", "code": code}))
        second = json.loads(await turn.call("core_execute", {"purpose": "p", "code": code}))
    assert first[:2] != second[:2]
    [one, _] = reader_of(tmp_path).after()
    assert one.clock_ms - 50 <= first[2] <= one.clock_ms + one.execution_ms + 50
    from sandbox import DenoRuntime, ExecutionRequest

    async with DenoRuntime() as runtime:
        request = ExecutionRequest(code=code, deterministic=True, seed=one.seed, clock_ms=one.clock_ms)
        again = (await runtime.execute(request)).result
    assert again[:2] == first[:2]
    assert again[2] == pytest.approx(one.clock_ms, abs=1)


async def test_a_cancelled_run_is_kept_with_the_calls_it_had_made(tmp_path):
    toolbox, called = Toolbox(), anyio.Event()

    @toolbox.tool(policy="allow")
    async def stock() -> int:
        return 1

    @toolbox.tool(policy="allow")
    async def hang() -> None:
        called.set()
        await anyio.sleep_forever()

    class Calling(ScriptedRuntime):
        async def execute(self, request, tools=None, **given):
            await tools.call("stock", {})
            await tools.call("hang", {})
            raise AssertionError

    settings = Settings(home=tmp_path, neurons={"owner": {"console": False}})
    cortex = MotorCortex(settings, runtime=Calling([]), toolbox=toolbox)
    async with cortex, cortex.turn() as turn, anyio.create_task_group() as tasks:
        given = {"purpose": "p", "code": "await tools.stock({}); await tools.hang({})"}
        tasks.start_soon(turn.call, "core_execute", given)
        with anyio.fail_after(30):
            await called.wait()
        tasks.cancel_scope.cancel()
    [one] = reader_of(tmp_path).after()
    assert (one.outcome, one.reply_code, one.reply) == ("cancelled", "CANCELLED", "")
    assert [(call.name, call.ok, call.code) for call in one.calls] == [
        ("stock", True, None),
        ("hang", False, "cancelled"),
    ]
    recorded = reader_of(tmp_path).recording(one)
    assert [(call.name, call.result, call.is_whole) for call in recorded.calls] == [
        ("stock", 1, True),
        ("hang", None, False),
    ]


async def test_a_cached_run_names_the_run_that_gave_its_result(tmp_path):
    cached = replace(OK, metrics=Metrics(cached=True))
    first, second = await ran(tmp_path, [OK, cached])
    assert (first.cached, first.cached_from) == (False, None)
    assert (second.cached, second.cached_from) == (True, first.id)


async def test_a_recording_is_bounded_and_says_what_it_left_out(tmp_path):
    toolbox = Toolbox()

    @toolbox.tool(policy="allow")
    async def big(n: int) -> str:
        return "x" * n

    class Calling(ScriptedRuntime):
        async def execute(self, request, tools=None, **given):
            for n in (10, 200_000, 100_000, 20):
                await tools.call("big", {"n": n})
            return await super().execute(request, tools, **given)

    settings = Settings(home=tmp_path, neurons={"owner": {"console": False}})
    async with MotorCortex(settings, runtime=Calling([OK]), toolbox=toolbox) as cortex, cortex.turn() as turn:
        await turn.call("core_execute", {"purpose": "p", "code": "await tools.big({})"})
    [one] = reader_of(tmp_path).after()
    recording = reader_of(tmp_path).recording(one)
    assert [call.is_whole for call in recording.calls] == [True, True, False, True]
    assert recording.left_out == 1
    assert one.recording.bytes <= MAX_RECORDING_BYTES
    path = tmp_path / "runs" / "recordings" / f"{one.recording.id}.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(path.read_bytes().replace(b"10", b"11"))
    with pytest.raises(ValueError, match="not what was written"):
        reader_of(tmp_path).recording(one)
    path.unlink()
    assert reader_of(tmp_path).recording(one) is None


def ended(number: int = 1, reply: str = "1", **more: Any) -> ExecutionEnded:
    intent = RunCodeIntent(
        payload=RunCode(purpose="p", code="return 1", tier=Tier.ISOLATED, timeout=100),
        trace=Trace(turn=f"{number:016x}", call=1),
    )
    run = ObservedRun(intent, "0" * 64, 0)
    return ExecutionEnded(intent, ExecutionOutcome(ok=True, result=1, **more), reply, 1.0, run=run)


class Held(RunFiles):
    """The disk waits until the test lets it go on."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.gate = threading.Event()
        self.begun = threading.Event()

    def append(self, line: bytes) -> None:
        self.begun.set()
        assert self.gate.wait(60)
        super().append(line)


class Number:
    seq = 1


def writer_of(tmp_path, files=RunFiles, record=lambda *_, **__: Number, **settings) -> tuple[RunWriter, Any]:
    kept = RunsSettings(**settings)
    held = files(tmp_path, kept)
    return RunWriter(held, kept, record, Redactor(RedactionSettings()), quiet_s=0.0), held


def test_runs_that_end_faster_than_the_disk_writes_are_dropped_and_counted(tmp_path):
    writer, held = writer_of(tmp_path, Held)
    writer.hear(ended(1))
    assert held.begun.wait(60)
    for number in range(2, 102):
        writer.hear(ended(number))
    assert writer.dropped == 100 - 64
    held.gate.set()
    assert writer.flush(60)
    writer.close()
    assert len(RunReader(tmp_path).after()) == 65


def test_heavy_texts_that_wait_are_bounded_together(tmp_path):
    writer, held = writer_of(tmp_path, Held)
    writer.hear(ended(1))
    assert held.begun.wait(60)
    heavy = logs(*["x" * 1_000_000] * 5)
    for number in range(2, 12):
        writer.hear(ended(number, logs=heavy))
    assert writer.dropped == 7
    held.gate.set()
    writer.close()


def test_what_waits_at_the_end_is_written_before_the_writer_is_closed(tmp_path):
    writer, _ = writer_of(tmp_path)
    writer._quiet_s = 3_600.0
    for number in range(10):
        writer.hear(ended(number))
    assert RunReader(tmp_path).after() == []
    writer.close()
    assert len(RunReader(tmp_path).after()) == 10


def test_a_disk_that_refuses_costs_the_details_and_nothing_else(tmp_path, caplog):
    class Full(RunFiles):
        def append(self, line: bytes) -> None:
            raise OSError(28, "No space left on device")

    writer, _ = writer_of(tmp_path, Full)
    writer.hear(ended())
    assert writer.flush(60)
    writer.close()
    assert writer.dropped == 1
    assert "No space left" in caplog.text


def test_without_an_audit_the_details_are_kept_and_stand_for_nothing(tmp_path):
    def closed(*_: Any, **__: Any) -> None:
        raise AuditError("full")

    writer, _ = writer_of(tmp_path, record=closed)
    writer.hear(ended())
    writer.close()
    [one] = RunReader(tmp_path).after()
    assert one.audit is None


def test_half_a_character_in_a_text_is_no_reason_to_lose_the_run(tmp_path):
    writer, _ = writer_of(tmp_path)
    writer.hear(ended(reply="\ud83d", logs=logs("a\udc00")))
    writer.close()
    [one] = RunReader(tmp_path).after()
    assert (one.reply, one.logs[0].text) == ("\ufffd", "a\ufffd")


def test_a_line_that_would_be_too_long_for_the_reader_is_made_shorter(tmp_path):
    writer, _ = writer_of(tmp_path, max_text_bytes=262_144)
    writer.hear(ended(reply="\x00" * 262_000, logs=logs("\x01" * 131_000)))
    writer.close()
    [one] = RunReader(tmp_path).after()
    assert one.logs_left_out == 1 or one.reply is None


@pytest.mark.parametrize("most", [1, 12, 13, 20, 100])
def test_a_cut_text_is_never_longer_than_its_limit(most):
    for text in ("", "a", "é" * 50, "\U0001f600" * 20, "\ud800" * 9):
        shown = cut_text(text, most)
        assert len(shown.encode()) <= max(most, len("… (cut)".encode()))
        assert shown == text or "cut" in shown or "\ufffd" in shown


WRITES = """
import sys
from pathlib import Path
from cortex.runs import RunFiles
from cortex.settings.sections import RunsSettings
from tests.cortex.runs.support import details, line_of
files = RunFiles(Path(sys.argv[1]), RunsSettings())
number = 0
while True:
    number += 1
    files.append(line_of(details(number, reply="x" * (number * 977 % 60_000))))
    if number == 20:
        print("under way", flush=True)
"""


def test_a_program_that_is_killed_at_any_moment_leaves_a_file_that_can_be_read(tmp_path):
    for _ in range(3):
        with subprocess.Popen([sys.executable, "-c", WRITES, str(tmp_path)], stdout=subprocess.PIPE) as program:
            assert program.stdout.readline() == b"under way\n"
            os.kill(program.pid, signal.SIGKILL)
    reader = RunReader(tmp_path)
    before = reader.newest(most=1_000)
    assert before.damaged <= 2
    assert len(before.runs) >= 60
    from tests.cortex.runs.support import details, line_of

    kept = RunFiles(tmp_path, RunsSettings())
    kept.append(line_of(details(5_000)))
    kept.close()
    assert reader.newest(most=1).runs[0].id == details(5_000).id
