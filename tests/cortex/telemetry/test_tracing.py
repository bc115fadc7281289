"""Spans of real turns, as a collector gets them over HTTP: their tree, their attributes, and what they never hold."""

from __future__ import annotations

import asyncio
import contextvars
import http.server
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import anyio
import opentelemetry.trace
import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from cortex import Conversations, MotorCortex, Settings, Toolbox, run_turn
from cortex.loop import AssistantMessage, ModelError, ModelReply, ToolRequest, Usage, ignore
from cortex.runs import RunReader
from cortex.telemetry import SpanTracing, span_names as names
from cortex.telemetry.tracing import tracer_of
from cortex.workflows import checked
from sandbox import ExecutionOutcome
from tests.cortex.learning.test_learning_alive import COUNTER, Life, _soon  # noqa: F401 - a fixture
from tests.cortex.telemetry.collector import collecting

pytestmark = pytest.mark.deno
SECRET = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"


@pytest.fixture
def collector():
    with collecting() as found:
        yield found


@contextmanager
def sdk(monkeypatch, exporter=None, **options) -> Iterator[TracerProvider]:
    """As if the program had configured an SDK."""
    provider = TracerProvider(shutdown_on_exit=False, **options)
    if exporter is not None:
        provider.add_span_processor(BatchSpanProcessor(exporter))
    monkeypatch.setattr(opentelemetry.trace, "_TRACER_PROVIDER", provider)
    try:
        yield provider
    finally:
        provider.shutdown()


@pytest.fixture
def provider(collector, monkeypatch):
    with sdk(monkeypatch, OTLPSpanExporter(collector.url)) as found:
        yield found


def settings_of(home, **sections):
    return Settings(
        home=home,
        **{"sandbox": {"pool_size": 1}, "execute": {"max_calls_per_turn": 20}, "cache": {"enabled": False}, **sections},
    )


tools = Toolbox()


@tools.tool(name="shop.stock")
async def stock(item: str) -> int:
    """How many are there."""
    return 3


@tools.tool(name="shop.broken")
async def broken() -> int:
    """Fail."""
    raise RuntimeError(SECRET)


@contextmanager
def server() -> Iterator[tuple[int, list]]:
    """A server that notes the headers that it gets."""
    heads: list = []

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            heads.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(404 if "missing" in self.path else 200)
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"ok")

        def log_message(self, *_):
            pass

    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    try:
        yield serving.server_port, heads
    finally:
        serving.shutdown()
        thread.join(20)
        serving.server_close()


ROOT = "invoke_agent motor-cortex"
CALL = "execute_tool core.execute"


async def test_a_turn_is_one_tree_from_the_agent_to_each_call_and_request(tmp_path, collector, provider):
    with server() as (port, heads):
        network = {"allow": [{"host": "127.0.0.1", "ports": [port], "http": True, "private": True}]}
        settings = settings_of(tmp_path / "home", sandbox={"pool_size": 1, "network": network})
        code = (
            f"const [a, b] = await Promise.all([fetch('http://127.0.0.1:{port}/a?key={SECRET}'), "
            f"fetch('http://127.0.0.1:{port}/missing')]); "
            "await fetch('http://elsewhere.example/').catch(() => 0); "
            "try { await tools.shop.broken({}) } catch {} "
            f"console.log('{SECRET}'); return await tools.shop.stock({{ item: '{SECRET}' }})"
        )
        async with MotorCortex(settings, toolbox=tools) as cortex, cortex.turn(conversation="talk") as turn:
            call = {"purpose": SECRET, "code": code, "tier": "network"}
            assert await turn.call("core.execute", call) == "3"
            await turn.call("shop.stock", {"item": "x"})
            await turn.call("core.energy")
    provider.force_flush()
    spans = {one.name: one for one in collector.spans}
    assert {one.trace for one in collector.spans} == {spans[ROOT].trace}
    assert collector.path(spans[ROOT]) == [ROOT]
    assert collector.path(spans["run_code network"]) == [ROOT, CALL, "run_code network"]
    for name in ("execute_tool shop.broken", "GET"):
        assert {tuple(collector.path(one)) for one in collector.named(name)} == {(ROOT, CALL, "run_code network", name)}
    assert sorted(map(tuple, map(collector.path, collector.named("execute_tool shop.stock")))) == [
        (ROOT, CALL, "run_code network", "execute_tool shop.stock"),
        (ROOT, "execute_tool shop.stock"),
    ]
    assert collector.path(spans["execute_tool core.energy"]) == [ROOT, "execute_tool core.energy"]
    of_code = [one for one in collector.named("execute_tool shop.stock") if one.attributes[names.ORIGIN] == "code"]
    assert [one.attributes[names.POLICY] for one in of_code] == ["allow"]
    assert spans[ROOT].attributes[names.CONVERSATION] == "talk"
    assert spans["execute_tool shop.broken"].attributes[names.ERROR_TYPE] == "internal"
    run = spans["run_code network"].attributes
    assert (run[names.TOOL_CALLS], run[names.FETCHES], run[names.WALL], run[names.TIER]) == (2, 2, "full", "network")
    # Each span lies within its parent.
    by_id = {one.id: one for one in collector.spans}
    for one in collector.spans:
        if one.parent and one.kind == "INTERNAL":
            assert by_id[one.parent].began <= one.began
            assert one.ended <= by_id[one.parent].ended
    fetched = sorted(collector.named("GET"), key=lambda one: str(one.attributes.get(names.HTTP_STATUS)))
    assert [one.attributes.get(names.HTTP_STATUS) for one in fetched] == [200, 404, None]
    assert [one.attributes.get(names.SERVER_ADDRESS) for one in fetched] == ["127.0.0.1", "127.0.0.1", None]
    assert [one.is_error for one in fetched] == [False, True, True]
    assert {one.kind for one in fetched} == {"CLIENT"}
    # No trace goes to strangers.
    assert len(heads) == 2
    assert all(not {"traceparent", "tracestate", "baggage"} & head.keys() for head in heads)
    # Neither code nor what it was given, said or answered.
    assert all(SECRET.encode() not in one.wire and b"elsewhere" not in one.wire for one in collector.spans)
    assert {(one.scope, one.schema) for one in collector.spans} == {(names.SCOPE, names.SCHEMA_URL)}


ENDS = {
    "throw new Error('x')": ("EXECUTION_ERROR", "RuntimeError"),
    "while (true) {}": ("EXECUTION_TIMEOUT", "TimeoutError"),
    "return eval('1')": ("EXECUTION_BLOCKED", "EXECUTION_BLOCKED"),
}


async def test_runs_that_fail_and_requests_that_are_refused_have_their_reason(tmp_path, collector, provider):
    async with MotorCortex(settings_of(tmp_path / "home")) as cortex, cortex.turn() as turn:
        for code in ENDS:
            await turn.call("core.execute", {"purpose": "x", "code": code, "timeout": 100})
        cortex.switch.turn_on("enough", by="owner")
        await turn.call("core.execute", {"purpose": "x", "code": "return 1"})
    provider.force_flush()
    found = [(one.attributes[names.REPLY_CODE], one.attributes[names.ERROR_TYPE]) for one in collector.named(CALL)]
    assert found == [*ENDS.values(), ("EXECUTION_DENIED", "EXECUTION_DENIED")]
    assert all(one.is_error for one in collector.named(CALL))
    assert len(collector.named("run_code")) == 2, "what was refused has no run"
    assert [one.attributes[names.ENERGY_COST] for one in collector.named(CALL)[:2]] == [0.05, 0.05]


async def test_runs_at_the_same_time_have_trees_of_their_own(tmp_path, collector, provider):
    """Each call of a tool stands below the run whose code made it."""
    async with MotorCortex(settings_of(tmp_path / "home"), toolbox=tools) as cortex, cortex.turn() as turn:

        async def run(number):
            code = f"await tools.shop.stock({{ item: 'x' }}); return {number}"
            assert await turn.call("core.execute", {"purpose": "x", "code": code}) == str(number)

        async with anyio.create_task_group() as tasks:
            for number in range(4):
                tasks.start_soon(run, number)
    provider.force_flush()
    assert len({one.parent for one in collector.named("execute_tool shop.stock")}) == 4
    assert len({one.parent for one in collector.named("run_code")}) == 4
    assert len({one.parent for one in collector.named(CALL)}) == 1


async def test_two_turns_are_two_traces_and_leave_the_context_as_it_was(tmp_path, collector, provider):
    own = provider.get_tracer("program")
    with own.start_as_current_span("job"):
        before = opentelemetry.trace.get_current_span()
        async with MotorCortex(settings_of(tmp_path / "home")) as cortex:
            async with cortex.turn() as turn:
                await turn.call("core.energy")
                with own.start_as_current_span("inside"):
                    pass
            assert opentelemetry.trace.get_current_span() is before
            entered = cortex.turn()
            await entered.__aenter__()

            async def leave():  # in another task
                await entered.__aexit__(None, None, None)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(leave)
    provider.force_flush()
    assert len(collector.named(ROOT)) == 2
    assert collector.path(collector.one("inside")) == ["job", ROOT, "inside"]


async def test_a_run_is_found_by_its_trace(tmp_path, collector, provider):
    settings = settings_of(tmp_path / "home")
    async with MotorCortex(settings) as cortex, cortex.turn() as turn:
        await turn.call("core.execute", {"purpose": "x", "code": "return 1"})
    provider.force_flush()
    (details,) = RunReader(tmp_path / "home" / "runs").after()
    assert details.trace_id == collector.one("run_code").trace


async def test_content_is_in_spans_only_if_the_owner_wants_it_and_then_without_secrets_and_short(
    tmp_path, collector, provider
):
    settings = settings_of(tmp_path / "home", telemetry={"content": True})
    async with MotorCortex(settings, toolbox=tools) as cortex, cortex.turn() as turn:
        await turn.call("core.execute", {"purpose": "x", "code": f"return '{SECRET}' + 'a'.repeat(9000)"})
        await turn.call("shop.stock", {"item": SECRET})
    provider.force_flush()
    call = collector.one(CALL).attributes
    assert call[names.CALL_ARGUMENTS].startswith("return '")
    assert len(call[names.CALL_RESULT].encode()) <= 4_096
    assert "item" in collector.one("execute_tool shop.stock").attributes[names.CALL_ARGUMENTS]
    assert all(SECRET.encode() not in one.wire for one in collector.spans)


async def test_a_kill_and_a_question_to_the_owner_are_events(tmp_path, collector, provider):
    from cortex.tools import Decision

    class Owner:
        async def decide(self, question):
            return Decision(allowed=True)

    began, endless = anyio.Event(), Toolbox()

    @endless.tool(name="shop.stock")
    async def asked(item: str) -> int:
        """How many are there."""
        if item == "last":
            began.set()
        return 3

    settings = settings_of(tmp_path / "home", tools={"policies": {"shop.stock": "ask"}})
    async with MotorCortex(settings, toolbox=endless, owner=Owner()) as cortex, cortex.turn() as turn:

        async def run(item, then):
            code = f"await tools.shop.stock({{ item: '{item}' }}); {then}"
            await turn.call("core.execute", {"purpose": "x", "code": code})

        await run("first", "return 1")
        with anyio.fail_after(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(run, "last", "while (true) {}")
                await began.wait()
                cortex.switch.turn_on("enough", by="owner")
    provider.force_flush()
    for asked_about in collector.named("execute_tool shop.stock"):
        assert {"owner_asked", "owner_answered"} == {*asked_about.events}
        assert asked_about.attributes[names.POLICY] == "ask"
    killed = [one for one in collector.named("run_code") if "killed" in one.events]
    assert [one.attributes[names.ERROR_TYPE] for one in killed] == ["CrashError"]


MODEL = {"name": "tiny", "base_url": "http://127.0.0.1:4000/v1", "stream": False}


async def test_requests_to_the_model_are_spans_of_the_turn_without_what_was_said(tmp_path, collector, provider):
    settings = settings_of(tmp_path / "home", model=MODEL)
    call = ToolRequest("call_1", "core_execute", '{"purpose": "x", "code": "return 1"}')
    used = Usage(input_tokens=12, output_tokens=5)
    replies = [
        ModelReply(AssistantMessage("", (call,)), used, "tools"),
        ModelReply(AssistantMessage(SECRET), Usage(7, 3, estimated=True), "stop"),
        ModelError("the model is not there"),
    ]

    class Replies:
        async def reply(self, messages, tools, *, on_text=ignore):
            found = replies.pop(0)
            if isinstance(found, ModelError):
                raise found
            return found

    with Conversations(tmp_path / "home" / "conversations").new() as conversation:
        async with MotorCortex(settings) as cortex:
            for _ in range(2):
                async with cortex.turn() as turn:
                    model = cortex.traced(Replies())
                    await run_turn(model, turn, cortex.openai_tools(), conversation, SECRET, settings.loop)
    provider.force_flush()
    first, second, broken = collector.named("chat tiny")
    assert {tuple(collector.path(one)) for one in (first, second, broken)} == {(ROOT, "chat tiny")}
    assert len({one.trace for one in collector.spans}) == 2
    assert first.kind == "CLIENT"
    assert first.attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "tiny",
        "gen_ai.request.stream": False,
        "gen_ai.usage.input_tokens": 12,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.response.finish_reasons": ["tool_calls"],
        "server.address": "127.0.0.1",
        "server.port": 4000,
    }
    assert names.INPUT_TOKENS not in second.attributes, "an estimate is no count"
    assert broken.attributes[names.ERROR_TYPE] == "ModelError"
    assert collector.one(CALL).attributes[names.CALL_ID] == "call_1"
    assert all(SECRET.encode() not in one.wire for one in collector.spans)


async def test_a_cancelled_run_ends_its_spans(tmp_path, collector, provider):
    async with MotorCortex(settings_of(tmp_path / "home")) as cortex, cortex.turn() as turn:
        with anyio.move_on_after(0.3):
            await turn.call("core.execute", {"purpose": "x", "code": "while (true) {}"})
    provider.force_flush()
    assert collector.one("run_code").attributes[names.ERROR_TYPE] == "CANCELLED"
    assert collector.one(CALL).is_error
    assert not collector.one(ROOT).is_error


async def test_without_an_sdk_or_with_traces_off_there_is_no_tracing(tmp_path, collector, monkeypatch):
    async def services_of(settings):
        async with MotorCortex(settings) as cortex:
            return cortex._services.tracing

    home = tmp_path / "home"
    monkeypatch.setattr(opentelemetry.trace, "_TRACER_PROVIDER", None)
    assert await services_of(settings_of(home)) is None
    monkeypatch.setattr(opentelemetry.trace, "_TRACER_PROVIDER", opentelemetry.trace.NoOpTracerProvider())
    assert await services_of(settings_of(home)) is None
    with sdk(monkeypatch):
        assert await services_of(settings_of(home, telemetry={"traces": False})) is None
        assert await services_of(settings_of(home)) is not None


async def test_a_program_without_opentelemetry_does_not_load_it():
    check = "import sys; from cortex.telemetry import tracing_of; from cortex import Settings; assert tracing_of(Settings()) is None; print([name for name in sys.modules if 'opentelemetry' in name])"
    done = await anyio.run_process([sys.executable, "-c", check])
    assert done.stdout.decode().strip() == "[]"


async def test_spans_that_nobody_samples_cost_no_attributes_and_leave_no_trace_in_the_record(tmp_path, monkeypatch):
    with sdk(monkeypatch, sampler=ALWAYS_OFF):
        async with MotorCortex(settings_of(tmp_path / "home")) as cortex, cortex.turn() as turn:
            assert await turn.call("core.execute", {"purpose": "x", "code": "return 1"}) == "1"
    (details,) = RunReader(tmp_path / "home" / "runs").after()
    assert details.trace_id is None


async def test_a_dead_collector_delays_no_run_and_what_it_lost_is_counted(tmp_path, monkeypatch):
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    monkeypatch.setenv("OTEL_PYTHON_SDK_INTERNAL_METRICS_ENABLED", "true")
    # A server that takes connections and never answers.
    with socket.create_server(("127.0.0.1", 0)) as dead, sdk(monkeypatch) as provider:
        exporter = OTLPSpanExporter(f"http://127.0.0.1:{dead.getsockname()[1]}/v1/traces", timeout=1)
        meters = MeterProvider([reader], shutdown_on_exit=False)
        processor = BatchSpanProcessor(
            exporter, max_queue_size=4, max_export_batch_size=2, schedule_delay_millis=50, meter_provider=meters
        )
        provider.add_span_processor(processor)
        async with MotorCortex(settings_of(tmp_path / "home")) as cortex, cortex.turn() as turn:
            for number in range(4):
                assert await turn.call("core.execute", {"purpose": "x", "code": f"return {number}"}) == str(number)
        lost = [
            point.value
            for resource in reader.get_metrics_data().resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            for point in getattr(metric.data, "data_points", ())
            if dict(point.attributes).get("error.type") == "queue_full"
        ]
        assert sum(lost) > 0


MCP_PROGRAM = """
import sys, anyio
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(sys.argv[2])))
trace.set_tracer_provider(provider)

from cortex import MotorCortex, Settings

server = {"command": sys.executable, "args": ["-m", "examples.servers.commit_log"]}
settings = Settings(home=sys.argv[1], mcpServers={"log": server}, sandbox={"pool_size": 0})

async def main():
    async with MotorCortex(settings) as cortex, cortex.turn() as turn:
        code = "return (await tools.log.list_authors({})).length >= 0 ? 1 : 0"
        print(await turn.call("core.execute", {"purpose": "x", "code": code, "tools": ["log"]}))

anyio.run(main)
provider.shutdown()
"""


async def test_the_spans_of_the_mcp_sdk_stand_below_ours_and_are_not_drawn_twice(tmp_path, collector):
    done = await anyio.run_process([sys.executable, "-c", MCP_PROGRAM, str(tmp_path / "home"), collector.url])
    ours = [one for one in collector.named("execute_tool log.") if one.scope == names.SCOPE]
    sent = [one for one in collector.named("MCP send tools/call") if one.scope != names.SCOPE]
    assert (len(ours), len(sent)) == (1, 1), done.stdout
    assert [one.parent for one in sent] == [ours[0].id]
    assert collector.path(sent[0])[:3] == [ROOT, CALL, "run_code isolated"]


async def test_deliveries_to_neurons_are_traces_of_their_own_and_few_are_drawn(tmp_path, collector, provider):
    life = Life(tmp_path / "home", telemetry={"neuron_every": 2})
    own = provider.get_tracer("program")
    with own.start_as_current_span("around"):
        async with life.cortex() as cortex:
            await life.approve(cortex, await life.propose(cortex, COUNTER))
            for _ in range(4):
                await life.open_doors(cortex)
    provider.force_flush()
    drawn = collector.named("neuron ")
    assert len(drawn) == 2, "one in two"
    assert {one.parent for one in drawn} == {""}
    assert len({one.trace for one in drawn}) == 2
    assert {one.kind for one in drawn} == {"CONSUMER"}
    facts = drawn[0].attributes
    assert (facts[names.SIGNALS], facts[names.EMITTED], facts[names.ERRORS]) == (1, 1, 0)
    assert (drawn[0].name, facts[names.ENERGY_COST] > 0) == (f"neuron {facts[names.NEURON_ID]}", True)


@pytest.mark.parametrize(("every", "drawn"), [(0, 0), (1, 6), (3, 2), (100, 1)])
def test_one_delivery_in_as_many_as_the_settings_say_is_drawn(every, drawn):
    kept = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracing = SpanTracing(tracer_of(provider), None, every)
    for _ in range(6):
        with tracing.delivery(SimpleNamespace(id="crypto-price"), 1) as came:
            came(0, 1, 0.0)
    spans = kept.get_finished_spans()
    assert len(spans) == drawn
    assert all(span.attributes[names.ERROR_TYPE] == "neuron_error" for span in spans)


async def test_a_call_from_a_task_that_knows_nothing_of_its_run_stands_below_it(
    tmp_path, collector, provider, anyio_backend_name
):
    """A runtime may call tools from tasks that it has started long before."""
    if anyio_backend_name != "asyncio":
        pytest.skip("only asyncio starts a task in another context")

    class Elsewhere:
        async def execute(self, request, tools=None, *, network=None, workspace=None):
            call = tools.call("shop.stock", {"item": "x"})
            await asyncio.create_task(call, context=contextvars.Context())
            return ExecutionOutcome(ok=True, result=1)

    settings = settings_of(tmp_path / "home")
    async with MotorCortex(settings, toolbox=tools, runtime=Elsewhere()) as cortex, cortex.turn() as turn:
        call = {"purpose": "x", "code": "return await tools.shop.stock({ item: 'x' })"}
        assert await turn.call("core.execute", call) == "1"
    provider.force_flush()
    assert collector.path(collector.one("execute_tool shop.stock"))[:3] == [ROOT, CALL, "run_code isolated"]


async def test_a_workflow_is_no_part_of_the_turn_that_opened_workflows(tmp_path, collector, provider):
    plan = checked({"name": "one", "tasks": [{"id": "a", "type": "code_execution", "code": "return 1"}]})
    async with MotorCortex(settings_of(tmp_path / "home")) as cortex:
        async with cortex.turn():
            _ = cortex.workflows
        for _ in range(2):
            await cortex.workflows.wait((await cortex.workflows.start(plan)).id)
    provider.force_flush()
    runs = collector.named("run_code")
    assert [collector.path(one) for one in runs] == [["run_code isolated"]] * 2
    assert len({one.trace for one in (*runs, collector.one(ROOT))}) == 3, "one turn, and two runs"
