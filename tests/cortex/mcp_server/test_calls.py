"""What clients of either era see and get, without a transport between."""

from __future__ import annotations

import json
import re

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult

from cortex import Answer
from cortex.mcp_server import ClientCalls, mcp_server
from cortex.mcp_server.offered import offered
from cortex.redaction import Redactor
from cortex.settings.sections import RedactionSettings, ToolSettings
from cortex.tools.core_arguments import _CODE_LIMITS, _CODE_PARAMETERS
from cortex.turn.code_answer import code_answer
from sandbox import ExecutionOutcome, LogEntry

from .scripted import BOUND_S, STRUCTURED, CodeSaid, ScriptedCortex, settings

NAMES = ["core_execute", "core_search", "core_describe", "core_energy", "core_consolidate", "execute_code"]


@pytest.fixture(params=["legacy", "2026-07-28"])
def era(request) -> str:
    return request.param


async def never_asked(*_: object) -> ElicitResult:
    raise AssertionError("the server asked its client something")


def client(server, era: str) -> Client:
    return Client(server, mode=era, elicitation_callback=never_asked, read_timeout_seconds=BOUND_S)


async def test_the_tools_are_those_of_the_core_and_execute_code(tmp_path, era):
    async with client(mcp_server(ScriptedCortex(), settings(tmp_path)), era) as asking:
        tools = (await asking.list_tools()).tools
    assert [tool.name for tool in tools] == NAMES
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)
    assert all(tool.output_schema["type"] == "object" for tool in tools)
    reading = [tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint]
    assert reading == ["core_search", "core_describe", "core_energy"]


async def test_execute_code_has_the_schema_of_its_source(tmp_path, era):
    async with client(mcp_server(ScriptedCortex(), settings(tmp_path)), era) as asking:
        tool = (await asking.list_tools()).tools[-1]
    assert list(tool.input_schema["properties"]) == ["code", "intent", "tools", "context", "sandbox_config"]
    assert tool.input_schema["required"] == ["code"]
    config = tool.input_schema["properties"]["sandbox_config"]["properties"]
    assert list(config) == ["timeoutMs", "heapLimitMB", "allowedReadPaths", "allowNetwork", "allowWrite"]
    assert {"result", "logs", "metrics", "state"} <= tool.output_schema["properties"].keys()
    # What is read of the arguments, and what clients are told of them, is the same.
    assert tool.input_schema["properties"].keys() == _CODE_PARAMETERS.keys()
    assert config.keys() == _CODE_LIMITS.keys()


async def test_a_client_is_told_of_no_limit_that_does_not_hold_for_it(tmp_path):
    def told(**execute: int) -> str:
        return offered(ScriptedCortex().openai_tools(), settings(tmp_path, execute=execute))[0]["description"]

    # Each of its calls is a turn.
    assert "in one turn" in ScriptedCortex().openai_tools()[0]["function"]["description"]
    assert "in one turn" not in told()
    assert "At most 0 runs in one turn" in told(max_calls_per_turn=0)


async def test_what_a_client_is_told_is_short(tmp_path):
    tools = offered(ScriptedCortex().openai_tools(), settings(tmp_path))
    for_a_model = [{key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools]
    # Four bytes are a token, roughly.
    assert len(json.dumps(for_a_model, ensure_ascii=False, separators=(",", ":")).encode()) / 4 < 1_000


async def test_the_list_of_tools_is_the_same_to_the_byte_each_time(tmp_path, era):
    texts = set()
    for _ in range(2):
        async with client(mcp_server(ScriptedCortex(), settings(tmp_path)), era) as asking:
            for _ in range(2):
                tools = (await asking.list_tools()).tools
                texts.add(json.dumps([tool.model_dump(mode="json", by_alias=True) for tool in tools]))
    assert len(texts) == 1


async def test_to_search_is_offered_also_where_an_agent_need_not(tmp_path):
    class Small(ScriptedCortex):
        def openai_tools(self):
            return [tool for tool in super().openai_tools() if "search" not in tool["function"]["name"]]

    async with client(mcp_server(Small(), settings(tmp_path)), "auto") as asking:
        assert [tool.name for tool in (await asking.list_tools()).tools] == NAMES


async def test_a_tool_that_the_owner_denies_is_not_offered(tmp_path):
    class Denying(ScriptedCortex):
        def openai_tools(self):
            left_out = {"core_execute", "core_search"}
            return [tool for tool in super().openai_tools() if tool["function"]["name"] not in left_out]

    denied = settings(tmp_path, tools=ToolSettings(policies={"core.execute": "deny", "core.search": "deny"}))
    async with client(mcp_server(cortex := Denying(), denied), "auto") as asking:
        assert [tool.name for tool in (await asking.list_tools()).tools] == NAMES[2:5]
        result = await asking.call_tool("execute_code", {"code": "return 1"})
    assert result.is_error
    assert cortex.asked == []


async def test_an_answer_is_a_text_and_the_same_as_data(tmp_path, era):
    cortex = ScriptedCortex()
    async with client(mcp_server(cortex, settings(tmp_path)), era) as asking:
        result = await asking.call_tool("core_execute", {"purpose": "sum", "code": "return 1 + 1"})
    assert not result.is_error
    assert [part.text for part in result.content] == ["2", "Energy 0.95"]
    assert result.structured_content == {"text": "2", "note": "Energy 0.95"}
    assert cortex.asked == [("core_execute", {"purpose": "sum", "code": "return 1 + 1"})]


async def test_a_run_is_a_text_and_result_logs_and_metrics(tmp_path, era):
    given = {"code": "return 1", "intent": "add", "context": {"a": 1}, "sandbox_config": {"timeoutMs": 100}}
    cortex = ScriptedCortex()
    async with client(mcp_server(cortex, settings(tmp_path)), era) as asking:
        await asking.list_tools()  # so that the client checks the result by the schema
        result = await asking.call_tool("execute_code", given)
    assert not result.is_error
    assert [part.text for part in result.content] == ['{"total":42}']
    assert result.structured_content == STRUCTURED
    assert cortex.asked == [("execute_code", given)]


async def test_a_refusal_and_a_failure_are_errors(tmp_path, era):
    refusing = ScriptedCortex(
        Answer("EXECUTION_DENIED: no", ok=False),
        CodeSaid("EXECUTION_ERROR: RuntimeError: x", ok=False, structured={**STRUCTURED, "result": None}),
    )
    async with client(mcp_server(refusing, settings(tmp_path)), era) as asking:
        for name, text in (
            ("core_energy", "EXECUTION_DENIED: no"),
            ("execute_code", "EXECUTION_ERROR: RuntimeError: x"),
        ):
            result = await asking.call_tool(name, {"code": "x"})
            assert result.is_error
            assert result.content[0].text == text
            assert result.structured_content


async def test_a_tool_that_is_not_there_is_an_answer_that_names_those_that_are(tmp_path, era):
    cortex = ScriptedCortex()
    async with client(mcp_server(cortex, settings(tmp_path)), era) as asking:
        for name in ("core_say", "core.execute", "core_remember", "neurons_approve", "", "x" * 10_000):
            result = await asking.call_tool(name, {})
            assert result.is_error
            assert "core_execute" in result.content[0].text
            assert len(result.content[0].text) < 500
            assert result.structured_content == {"text": result.content[0].text}
    assert cortex.asked == []


async def test_what_the_host_does_wrong_is_an_answer_without_its_secrets(tmp_path, era, caplog):
    async def fail() -> None:
        raise RuntimeError("the password is hunter2")

    async with client(mcp_server(ScriptedCortex(work=fail), settings(tmp_path)), era) as asking:
        result = await asking.call_tool("core_energy", {})
    assert result.is_error
    assert result.content[0].text == "EXECUTION_ERROR: InternalError: the host failed with RuntimeError"


async def test_half_characters_and_floods_of_logs_do_not_reach_the_client(tmp_path, era):
    logs = (LogEntry(level="log", text="\ud83d" + "x" * 1_000),) * 1_000
    outcome = ExecutionOutcome(ok=True, result={"a\ud83d": ["\udc00"]}, logs=logs)
    answer = code_answer(outcome, "\ud83d", Redactor(RedactionSettings()))
    cortex = ScriptedCortex(Answer("\ud83d", "\udc00"), answer)
    async with client(mcp_server(cortex, settings(tmp_path)), era) as asking:
        await asking.call_tool("core_energy", {})
        result = await asking.call_tool("execute_code", {"code": "x"})
    assert "\ud83d" not in json.dumps(result.structured_content, ensure_ascii=False)
    kept = result.structured_content["logs"]
    assert sum(map(len, kept)) < 34_000
    assert kept[-1] == f"… and {1_000 - len(kept) + 1} more lines"


async def test_calls_run_at_the_same_time_and_more_than_can_be_taken_are_refused(tmp_path, era):
    go = anyio.Event()
    cortex = ScriptedCortex(work=go.wait)
    texts: list[str] = []

    async def call() -> None:
        texts.append((await asking.call_tool("core_energy", {})).content[0].text)

    async with client(mcp_server(cortex, settings(tmp_path), ClientCalls(3)), era) as asking:
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(call)
            with anyio.fail_after(BOUND_S):
                while cortex.waiting < 3:
                    await anyio.sleep(0.01)
            await call()
            assert texts == ["EXECUTION_DENIED: 3 calls are being answered already; wait for one of them"]
            await asking.list_tools()  # so that the client checks the result by the schema
            refused = await asking.call_tool("execute_code", {"code": "x"})
            assert refused.structured_content["error"]["message"].startswith("3 calls are being answered")
            go.set()
        assert texts[1:] == ["2"] * 3
        assert (await asking.call_tool("core_energy", {})).content[0].text == "2"
    assert cortex.most_waiting == 3


async def test_a_client_that_asked_for_progress_is_told_that_a_call_is_running(tmp_path, era):
    told: list[tuple[float, str | None]] = []
    enough = anyio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))
        # The first may be told before the call is taken, on a machine that stands still for a moment.
        if len(told) >= 3 and message.endswith("1 tool calls"):
            enough.set()

    cortex = ScriptedCortex(work=enough.wait)
    async with client(mcp_server(cortex, settings(tmp_path), progress_s=0.01), era) as asking:
        result = await asking.call_tool("core_execute", {"code": "x"}, progress_callback=on_progress)
    assert not result.is_error
    seconds = [progress for progress, _ in told]
    assert seconds == sorted(set(seconds))
    assert re.fullmatch(r"Running for \d+ s, 1 tool calls", told[-1][1])


async def test_a_call_that_its_client_gives_up_is_ended(tmp_path, era):
    cortex = ScriptedCortex(work=anyio.sleep_forever)
    async with client(mcp_server(cortex, settings(tmp_path)), era) as asking:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asking.call_tool, "core_execute", {"code": "x"})
            with anyio.fail_after(BOUND_S):
                await cortex.began.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(BOUND_S):
            while not cortex.cancelled:
                await anyio.sleep(0.01)
    assert cortex.waiting == 0


async def test_a_server_that_stops_ends_its_calls_and_tells_their_clients(tmp_path, era):
    calls = ClientCalls()
    cortex = ScriptedCortex(work=anyio.sleep_forever)
    texts: list[str] = []

    async def call() -> None:
        texts.append((await asking.call_tool("core_execute", {"code": "x"})).content[0].text)

    async with client(mcp_server(cortex, settings(tmp_path), calls), era) as asking:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            with anyio.fail_after(BOUND_S):
                await cortex.began.wait()
            calls.stop()
        await call()
    assert texts == ["EXECUTION_DENIED: The server is stopping"] * 2
    assert (cortex.waiting, cortex.cancelled) == (0, 1)
