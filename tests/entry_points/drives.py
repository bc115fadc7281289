"""Drives: functions that feed an untrusted value into one entry point of the host each."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from itertools import islice
from typing import Any, Literal, cast
from uuid import UUID

from pydantic import BaseModel

from cortex import Settings, Toolbox
from cortex.audit.lines import MAX_LINE_BYTES, NotARecord, is_intact, parse
from cortex.cache.result_cache import MAX_BYTES as MAX_CACHED_BYTES, outcome_of
from cortex.catalogue.workbench import Wish, Workbench, _declared
from cortex.discovery.discovery import Discovery
from cortex.discovery.endpoint_embedder import _MAX_REPLY_BYTES, _vectors
from cortex.home.stores import _parsed as _parsed_store
from cortex.loop.requests import MAX_ARGUMENTS_CHARS, firsts, parsed_arguments
from cortex.mcp_client.child import message_of
from cortex.mcp_client.listing import MAX_SCHEMA_BYTES, tools_of
from cortex.mcp_client.tool import read_arguments
from cortex.mcp_client.unwrap import unwrapped
from cortex.mcp_wire.messages import MESSAGE_LIMITS, EventMeter, MessageLines
from cortex.models.chat_client import REPLY_LIMITS, ChatClient
from cortex.models.chat_format import EventStream, EventTooLong, ReplyAssembly
from cortex.redaction import MAX_VALUE_CHARACTERS, Redactor
from cortex.settings.sections import DiscoverySettings, ModelSettings, RedactionSettings, StoreSettings
from cortex.text.long_texts import off_loop
from cortex.text.text import whole
from cortex.tools import ARGUMENT_LIMITS, MAX_ARGUMENT_CHARACTERS, arguments_for, code_arguments
from cortex.tools.core_arguments import MAX_NAMES
from cortex.tools.fitting import fitted
from cortex.tools.tool import json_of, value_of
from cortex.turn.code_answer import code_answer
from cortex.turn.consolidate_tool import _proposal
from cortex.turn.displays import display_lines, shown_displays
from cortex.workflows import PlanError, checked as checked_plan
from cortex.workflows.plan import MAX_PLAN_BYTES
from neurons import (
    HabitSettings,
    MemoryStorage,
    NeuronError,
    Recording,
    Recordings,
    Signal,
    ToolExchange,
)
from neurons.autonomic.mail import Mail
from neurons.autonomic.signal_limits import Admission
from neurons.contracts.document_text import (
    LIMITS as DOCUMENT_LIMITS,
    MAX_DOCUMENT_BYTES,
    Damaged,
    decode as decode_document,
    max_bytes,
)
from neurons.contracts.settings import AutonomicSettings
from neurons.habits.fingerprint import Fingerprint
from neurons.habits.fingerprint_reader import MAX_ANSWER_BYTES
from neurons.habits.habit import Script
from neurons.quarantine.worlds import changed_worlds, world_of
from sandbox import (
    Exchange,
    ExecutionOutcome,
    LogEntry,
    ReadyJson,
    SandboxSettings,
    TooComplex,
    ToolDeclaration,
    ToolError,
    bounded_json,
    schema_problem,
    typescript_of,
    usable_schema,
)
from sandbox.contracts.displays import displayed
from sandbox.contracts.errors import MalformedFrame
from sandbox.contracts.frames import LIMITS as FRAME_LIMITS, DisplayCall, ToolCall, decode, weight_of
from sandbox.guard.guard import MAX_ANSWER_BYTES as MAX_GUARD_BYTES, _findings
from sandbox.guard.program_reader import MAX_EDITS_BYTES, edited
from sandbox.run.bridge import Bridge
from sandbox.run.run_clock import RunClock
from sandbox.testing import FunctionTools
from sandbox.tool_types.schema_check import MAX_SCHEMA, BadSchema

from .shapes import Large, LongText, json_texts, schemas, texts

SANDBOX = SandboxSettings()
REDACTED_CHARACTERS = SANDBOX.max_result_bytes + MAX_VALUE_CHARACTERS
MESSAGE_BYTES = (8 + 1) * 1024 * 1024


@dataclass(frozen=True)
class Drive:
    values: Any
    """Hypothesis strategy: values as large as the entry point accepts, or a little larger."""
    work: Callable[[Any], Any]
    """May be a coroutine function, or a generator: between two of its steps the event loop runs other tasks."""


# Parameter types of the functions in an owner's toolbox, among them those that are expensive to validate or to hash.
class Colour(Enum):
    RED = "red"


class Node(BaseModel):
    name: str = ""
    children: list[Node] = []


def everything(
    numbers: set[int] | None = None,
    ids: set[UUID] | None = None,
    pairs: set[tuple[int, int]] | None = None,
    named: dict[int, float] | None = None,
    either: list[int | float | str | bool | Node | list[Any] | dict[str, Any]] | None = None,
    one: Literal["a", "b"] | Colour | None = None,
    tree: Node | None = None,
    rest: Any = None,
) -> int:
    return 1


TOOLBOX = Toolbox()
TOOLBOX.tool(everything)
TOOL = TOOLBOX.get("everything")
PARAMETERS = ("numbers", "ids", "pairs", "named", "either", "one", "tree", "rest")

STRANGERS_SCHEMA = {
    "type": "object",
    "properties": {
        **{f"prop_{n}": {"enum": [f"choice {n} {m}" for m in range(20)]} for n in range(100)},
        "a": {"type": "array", "uniqueItems": True, "items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "k": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}},
    },
    "additionalProperties": {
        "anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"type": "string"}, {"type": "number"}]
    },
}


def frame(given: Large) -> Iterator[None]:
    for line in (b'{"type":"__result__","value":%b}', b'{"type":"__tool_call__","call_id":"1","name":"x","params":%b}'):
        with suppress(MalformedFrame):
            decode(line % given.text)
        weight_of(line % given.text)
        yield


def value_in(given: Large) -> Any:
    try:
        return bounded_json(given.text, FRAME_LIMITS)
    except ValueError:
        return None


async def turn() -> None:
    """Let the event loop run other tasks: what comes next is a step of its own."""
    await asyncio.sleep(0.002)


async def arguments_from_code(given: Large) -> None:
    params = value_in(given)
    await turn()

    async def send(make: Callable[[], bytes]) -> None:
        make()

    async def read(arguments: dict[str, Any]) -> int:
        TOOL.read(arguments)
        return 1

    declared = ToolDeclaration("everything", input_schema=TOOL.input_schema)
    tools = FunctionTools({"everything": read})
    tools.declarations = lambda: [declared]  # type: ignore[method-assign]
    for name in PARAMETERS:
        bridge = Bridge(tools, SANDBOX)
        await bridge.answer(ToolCall("1", "everything", {name: params}), send, RunClock(math.inf))
        await turn()


def arguments_of_a_model(given: Large) -> Iterator[None]:
    text = given.text.decode()
    for name in PARAMETERS:
        with suppress(ToolError):
            TOOL.read(f'{{"{name}": {text}}}')
        yield
    with suppress(ToolError):
        TOOL.read(json.dumps({"either": text}))


def arguments_of_the_core(given: Large) -> Iterator[None]:
    text = given.text.decode()
    for name in ("core.execute", "core.describe", "core.say", "core.consolidate"):
        for raw in (text, f'{{"code": {text}, "tools": {text}}}', {"tools": text, "code": text}):
            with suppress(ToolError):
                arguments_for(name, raw)
            yield
    with suppress(ToolError):
        code_arguments(f'{{"code": "1", "context": {text}}}', Settings())


def arguments_for_a_server(given: Large) -> Iterator[None]:
    params = value_in(given)
    yield
    schema_json = json.dumps(STRANGERS_SCHEMA).encode()
    for raw in ({"a": params}, {"k": params}, {"zz": params}, params):
        with suppress(ToolError):
            read_arguments("server.tool", STRANGERS_SCHEMA, schema_json, raw)
        yield


def fitted_to_a_schema(given: tuple[Large, Large]) -> Iterator[None]:
    value, schema = value_in(given[0]), json.loads(given[1].text)
    yield
    with suppress(ToolError, TypeError, AttributeError, LookupError, RecursionError):
        fitted(value, schema)


def checked_by_a_schema(given: tuple[Large, Large]) -> Iterator[None]:
    value, schema_json = value_in(given[0]), given[1].text
    yield
    with suppress(BadSchema):
        usable_schema(schema_json)
    for checked in (value, {"a": value, "k00000": value}):
        yield
        with suppress(BadSchema):
            schema_problem(schema_json, checked)


def declared_in_typescript(given: Large) -> Iterator[None]:
    schema = json.loads(given.text)
    yield
    typescript_of([ToolDeclaration("a.b", "x" * 4_000, schema, schema)])


async def listed_by_a_server(given: Large) -> None:
    @dataclass
    class Listed:
        name: str
        description: str
        input_schema: dict[str, Any]
        output_schema: dict[str, Any] | None = None
        title: str | None = None

    schema = json.loads(given.text)
    schema = schema if isinstance(schema, dict) else {"items": schema}
    count = max(1, 20_000 // (given.text.count(b"{") + given.text.count(b"[")))
    words = " ".join(f"w{n}" for n in range(600))
    listed = [Listed(f"tool-{given.unit[:40]}{n}", words, schema, schema) for n in range(min(count, 2_000))]
    # In a thread, as in mcp_client/server.py.
    tools = await off_loop(10**6, tools_of, "server", listed, "allow", None)
    discovery = Discovery(DiscoverySettings())
    await discovery.rank(given.unit * 100, [tool.declaration for tool in tools], 1)
    await off_loop(10**6, _declared, [tool.declaration for tool in tools])


class ManyServers:
    """Ten servers, one of which has the largest accepted number of tools."""

    names = tuple(f"server-{n}" for n in range(10))

    def __init__(self) -> None:
        self.tools_by_server = {
            name: tools_of(name, [ListedTool(f"list-{n}-commits") for n in range(count)], "allow", None)
            for name, count in zip(self.names, (2_000, *[5] * 9), strict=True)
        }

    def version(self) -> int:
        return 1

    async def tools_of(self, name: str) -> Any:
        return self.tools_by_server[name]


@dataclass
class ListedTool:
    name: str
    description: str = "does it"
    input_schema: dict[str, Any] = field(default_factory=lambda: {"type": "object"})
    output_schema: dict[str, Any] | None = None
    title: str | None = None


@cache
def many_servers() -> ManyServers:
    return ManyServers()


async def lent_to_code(given: LongText) -> None:
    """Search the tools of all servers for those that code mentions."""
    bench = Workbench(Toolbox(), cast("Any", many_servers()), Settings(), Discovery(DiscoverySettings()))
    words = " ".join(f"w{n:x}" for n in range(5_000))
    unknown = "".join(f"tools['server-0'].list{n}commits_x;" for n in range(50))
    for code in (given.text, f"tools{given.text}", f"const {{a}} = tools; // {words}", unknown, "tools " * 170_000):
        bench.may_reach_servers(Wish(code))
        await turn()
        # Names that nothing has cost most where the code has such names, too.
        asked = tuple(f"server-0.list{n}commits_z" for n in range(50)) if code is unknown else ()
        await bench.grant(Wish(code, "", asked))
        await turn()


def message_of_a_server(given: Large) -> Iterator[None]:
    for line in (b'{"jsonrpc":"2.0","id":1,"result":{"structuredContent":{"a":%b},"content":[]}}\n', b"%b\n"):
        lines = MessageLines(MESSAGE_BYTES)
        data = line % given.text
        for at in range(0, len(data), 65_536):
            yield
            for found in lines.feed(data[at : at + 65_536]):
                message = message_of(found)
                if message is not None and hasattr(message, "result") and isinstance(message.result, dict):
                    with suppress(ToolError):
                        unwrapped(message.result, "server.tool", 8 * 1024 * 1024)


def text_of_a_server(given: LongText) -> Iterator[None]:
    text = whole(given.text)  # a parsed text has no lone surrogates
    yield
    parts = [{"type": "text", "text": text}]
    for answer in ({"content": parts}, {"content": parts, "isError": True}):
        yield
        with suppress(ToolError):
            unwrapped(answer, "server.tool", 8 * 1024 * 1024)


def json_text_of_a_server(given: Large) -> Iterator[None]:
    return text_of_a_server(LongText(given.unit, given.text.decode()))


def events_of_a_server(given: Large) -> None:
    meter = EventMeter()
    data = b"data: " + given.text + b"\n\n"
    with suppress(TooComplex):
        for at in range(0, len(data), 65_536):
            meter.feed(data[at : at + 65_536])


async def redacted(given: LongText) -> None:
    redactor = Redactor(RedactionSettings(restore=True))
    shown = await off_loop(len(given.text), redactor.text, given.text)
    redactor.restored({"a": [shown]}, shown)


async def answered_in_parts(given: LongText) -> None:
    """A result and its logs, as `execute_code` gives them."""
    result = [given.text[: SANDBOX.max_result_bytes // 4], {"password": given.text[:1_000]}]
    logs = tuple(LogEntry("log", given.text[: SANDBOX.max_output_bytes // 2]) for _ in range(2))
    outcome = ExecutionOutcome(ok=True, result=result, logs=logs)
    size = sum(len(entry.text) for entry in logs)
    await off_loop(size, code_answer, outcome, "text", Redactor(RedactionSettings()))


def reply_of_a_model(given: Large) -> Iterator[None]:
    client = ChatClient.__new__(ChatClient)
    from cortex.loop import ModelError
    from cortex.models.model_faults import Faults

    client._faults = Faults(ModelSettings(name="tiny", base_url="http://localhost/v1"))
    call = (
        b'{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"1"}}],"x":%b}}]}'
    )
    for line in (b"%b", b'{"error":%b}', b'{"choices":[{"delta":{"tool_calls":%b}}]}', call):
        with suppress(ModelError):
            client._take(line % given.text, ReplyAssembly(1_048_576), lambda _: None)
        yield


def fault_of_a_model(given: LongText) -> None:
    from cortex.models.model_faults import Faults

    faults = Faults(ModelSettings(name="tiny", base_url="http://localhost/v1", api_key="k" * 40))
    faults.in_stream({"message": given.text, "code": given.text})
    faults.garbage(given.text)


def stream_of_a_model(given: LongText) -> None:
    events = EventStream(1_100_000)
    data = given.text.encode(errors="replace")
    with suppress(EventTooLong):
        for at in range(0, len(data), 65_536):
            events.feed(data[at : at + 65_536])


def calls_of_a_model(given: Large) -> None:
    from cortex.loop import ToolRequest

    text = given.text.decode()
    parsed_arguments(text)
    firsts([ToolRequest(f"c{n}", "x", text[: 2_048 - n]) for n in range(100)])


def vectors_of_an_endpoint(given: Large) -> None:
    _vectors(b'{"data":[{"index":0,"embedding":%b}]}' % given.text)


def record_of_the_audit(given: Large) -> None:
    with suppress(NotARecord):
        parse(given.text)
    is_intact(given.text)


def answer_of_the_fingerprint_reader(given: Large) -> None:
    with suppress(ValueError):
        found = json.loads(given.text)
        Fingerprint.of_json({"parts": found, "literals": found, "globals": found, "tools": found, "hosts": found})


def answer_of_the_guard(given: Large) -> None:
    with suppress(ValueError):
        _findings(given.text)


def document_of_the_home(given: Large) -> None:
    with suppress(Damaged):
        document = decode_document("habits/a", b'{"revision":1,"format":1,"recent":%b}' % given.text)
        Script.of_json("a", document.data)


async def mail_of_the_home(given: Large) -> None:
    """In a thread, as the post office reads it."""
    storage = MemoryStorage(on_damage=lambda _: None)
    mail = Mail(storage)
    for key, entries in (("emissions", "letters"), ("signals", "signals")):
        signal = b'{"signal":{"id":"a","type":"a","at":1.0,"correlation":"a","data":%b},"source":"host"' % given.text
        for text in (given.text, b'[%b,"action":"wake"}]' % signal, b"[%b}]" % signal):
            storage.files[f"mail/{key}"] = b'{"revision":1,"known":%b,"%b":%b}' % (given.text, entries.encode(), text)
            await off_loop(10**6, mail.read)
            await off_loop(10**6, lambda: mail.take(lambda _: True, "me"))
            await off_loop(10**6, mail.take_posted, 2.0)
            await off_loop(10**6, mail.post, [Signal("a", "host", at=1.0)])


def changed_inputs(given: Large) -> Iterator[None]:
    """All that a comparison makes of one recorded run, each with what both programs would be sent."""
    value = value_in(given)
    yield
    call = ToolExchange("a", {}, value)
    exchange = Exchange(method="GET", url="https://a.example/", status=200, body=given.text)
    recording = Recording("0" * 64, 1.0, value, exchanges=[exchange], tool_calls=[call])
    for world in islice(changed_worlds(world_of(1, recording, {"a": value}), (1, 3, "a"), may_lack=True), 24):
        yield
        assert world.changed


async def recorded(given: LongText) -> None:
    """Keep a recording in a thread, as HabitWatch does."""
    calls = [ToolExchange("a", {"text": given.text}, {"text": given.text[:100_000]}, given.text[:1_000])]
    recording = Recording("0" * 64, 1.0, {"text": given.text}, tool_calls=calls)
    await off_loop(10**6, Recordings(MemoryStorage(), HabitSettings(), now=lambda: 2.0).keep, recording)


def result_that_was_kept(given: Large) -> None:
    outcome_of(b'[%b,[],"full",[]]' % given.text)


def result_of_a_tool(given: Large) -> Iterator[None]:
    value = value_in(given)
    yield
    ready = json_of(value, TOOL.signature.result, "x")
    yield
    with suppress(ToolError):
        value_of(ready, "x")
    for result in (ReadyJson(given.text), value):
        yield
        Bridge(None, SANDBOX)._result(ToolCall("1", "x", {}), result)


def text_in_a_result(given: LongText) -> None:
    with suppress(ToolError):
        json_of({"a": given.text + "NaN Infinity"}, TOOL.signature.result, "x")


def proposed(given: LongText) -> Iterator[None]:
    rest = {"name": "Name", "purpose": "x", "inputSignals": ["tick"], "energyBudget": 0.1}
    for more in (
        {"code": given.text},
        {"code": "1", "hosts": [given.text[n : n + 50] for n in range(MAX_NAMES)]},
        {"code": "1", "hosts": [given.text[n : n + 50] for n in range(20_000)]},
        {"code": "1", "tools": [f"{given.unit}{n}" for n in range(MAX_NAMES)], "outputSignals": [given.unit] * 500},
        {"code": "1", "purpose": given.text},
    ):
        with suppress(NeuronError, ToolError):
            _proposal(arguments_for("core.consolidate", {**rest, **more}))
        yield


def signal_for_neurons(given: Large) -> Iterator[None]:
    data = value_in(given)
    yield
    Admission(AutonomicSettings()).admit(Signal("a", "neuron:x", data), 0.0)


def edits_of_the_program_reader(given: Large) -> None:
    edited("const a = 1;\n" * 4_000, given.text)


async def rows_on_display(given: Large) -> None:
    with suppress(MalformedFrame):
        table = displayed(DisplayCall("table", "", given.text.decode(errors="replace")))
        display_lines(await shown_displays([table] * 2, _unchanged))


async def _unchanged(text: str) -> str:
    return text


def value_of_a_store(given: Large) -> None:
    text = given.text.decode(errors="replace")
    _parsed_store("key", {"conversation": "a", "changed_at": 1.0, "values": {"a": text}})


def planned(given: Large) -> Iterator[None]:
    value = value_in(given)
    tool = {"id": "a", "type": "mcp_tool", "tool": "x"}
    yield
    for plan in (
        value,
        {"name": "x", "tasks": value},
        {"name": "x", "tasks": [value]},
        {"name": "x", "tasks": [{**tool, "arguments": {"x": value}}]},
        {"name": "x", "tasks": [{**tool, "arguments": value, "dependencies": value, "tools": value}]},
        {"name": "x", "tasks": [{"id": "a", "type": "code_execution", "code": "1", "context": {"x": value}}]},
    ):
        with suppress(PlanError):
            checked_plan(plan)
        yield


JSON_FRAME = json_texts(SANDBOX.max_frame_bytes - 1_000, FRAME_LIMITS)
A_SCHEMA = schemas(MAX_SCHEMA_BYTES, MAX_SCHEMA.containers)

DRIVES: dict[str, Drive] = {
    "frame": Drive(JSON_FRAME, frame),
    "arguments from code": Drive(JSON_FRAME, arguments_from_code),
    "arguments of a model": Drive(json_texts(MAX_ARGUMENT_CHARACTERS - 100, ARGUMENT_LIMITS), arguments_of_a_model),
    "arguments of the core": Drive(
        json_texts(MAX_ARGUMENT_CHARACTERS // 2 - 100, ARGUMENT_LIMITS), arguments_of_the_core
    ),
    "arguments for a server": Drive(JSON_FRAME, arguments_for_a_server),
    "calls of a model": Drive(json_texts(MAX_ARGUMENTS_CHARS, ARGUMENT_LIMITS), calls_of_a_model),
    "schema: fitting": Drive((json_texts(MAX_ARGUMENT_CHARACTERS, ARGUMENT_LIMITS), A_SCHEMA), fitted_to_a_schema),
    "schema: checking": Drive((JSON_FRAME, A_SCHEMA), checked_by_a_schema),
    "schema: declaring": Drive(schemas(MAX_SCHEMA_BYTES, 10**6), declared_in_typescript),
    "discovery": Drive(schemas(50_000, 2_000), listed_by_a_server),
    "mentions in code": Drive(texts(200_000), lent_to_code),
    "result of a tool": Drive(json_texts(SANDBOX.max_tool_result_bytes, FRAME_LIMITS), result_of_a_tool),
    "text in a result": Drive(texts(SANDBOX.max_tool_result_bytes // 6), text_in_a_result),
    "MCP message over stdio": Drive(json_texts(MESSAGE_BYTES - 200, MESSAGE_LIMITS), message_of_a_server),
    "MCP message over HTTP": Drive(json_texts(MESSAGE_BYTES - 200, MESSAGE_LIMITS), events_of_a_server),
    "MCP result: text": Drive(texts(MESSAGE_BYTES // 6), text_of_a_server),
    "MCP result: JSON in a text": Drive(json_texts(8_000_000), json_text_of_a_server),
    "redaction": Drive(texts(REDACTED_CHARACTERS), redacted),
    "redaction: logs": Drive(texts(SANDBOX.max_output_bytes), answered_in_parts),
    "model: reply": Drive(json_texts(1_048_576, REPLY_LIMITS), reply_of_a_model),
    "model: fault": Drive(texts(1_048_576), fault_of_a_model),
    "model: stream": Drive(texts(1_048_576), stream_of_a_model),
    "model: embeddings": Drive(json_texts(_MAX_REPLY_BYTES), vectors_of_an_endpoint),
    "audit": Drive(json_texts(MAX_LINE_BYTES), record_of_the_audit),
    "habits: fingerprint": Drive(json_texts(MAX_ANSWER_BYTES), answer_of_the_fingerprint_reader),
    "habits: recording": Drive(texts(4_000_000), recorded),
    "mail": Drive(json_texts(max_bytes("mail/a") - 500, DOCUMENT_LIMITS), mail_of_the_home),
    "equality: inputs": Drive(json_texts(HabitSettings().max_recording_bytes), changed_inputs),
    "documents": Drive(json_texts(MAX_DOCUMENT_BYTES - 100, DOCUMENT_LIMITS), document_of_the_home),
    "signal": Drive(JSON_FRAME, signal_for_neurons),
    "proposal": Drive(texts(1_000_000), proposed),
    "plan": Drive(json_texts(MAX_PLAN_BYTES, ARGUMENT_LIMITS), planned),
    "guard": Drive(json_texts(MAX_GUARD_BYTES), answer_of_the_guard),
    "program: edits": Drive(json_texts(MAX_EDITS_BYTES), edits_of_the_program_reader),
    "display: rows": Drive(json_texts(SANDBOX.max_displayed_bytes), rows_on_display),
    "store: value": Drive(json_texts(StoreSettings().max_bytes, FRAME_LIMITS), value_of_a_store),
    "cache": Drive(json_texts(MAX_CACHED_BYTES), result_that_was_kept),
}
