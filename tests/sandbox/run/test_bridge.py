"""What the bridge answers when the host's own side of a call fails."""

from __future__ import annotations

import json
import math
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from sandbox import ReadyJson, SandboxSettings, ToolDeclaration
from sandbox.contracts.frames import Fetch, FileCall, ToolCall
from sandbox.run.bridge import Bridge
from sandbox.run.run_clock import RunClock
from sandbox.testing import FunctionTools

FETCH = Fetch("7", "https://example.com", "GET", [], None, "follow")
FILE = FileCall("7", "stat", {"path": "a"})


class Broken:
    """A network and files that fail with an unexpected exception."""

    requests = received_bytes = 0
    max_calls = 10

    async def fetch(self, call):
        raise ValueError("the secret of the host")

    async def answer(self, call):
        raise ValueError("the secret of the host")


async def answer(bridge: Bridge, call) -> dict:
    return json.loads(await line(bridge, call))


async def line(bridge: Bridge, call) -> bytes:
    sent = []

    async def send(make):
        sent.append(make())

    await bridge.answer(call, send, RunClock(math.inf))
    [frame] = sent
    return frame


@pytest.mark.parametrize(("call", "code"), [(FETCH, "network"), (FILE, "PermissionDenied")])
async def test_a_fault_of_the_host_is_an_error_of_the_call_without_its_text(call, code, caplog):
    frame = await answer(Bridge(None, SandboxSettings(), Broken(), Broken()), call)
    assert (frame["type"], frame["call_id"], frame["code"]) == ("__tool_error__", "7", code)
    assert "ValueError" in frame["error"]
    assert "secret" not in frame["error"]
    assert "the secret of the host" in caplog.text  # for the person who runs it


@pytest.mark.parametrize(("call", "code"), [(FETCH, "denied"), (FILE, "PermissionDenied")])
async def test_what_was_not_granted_is_refused_here_whatever_the_guest_says(call, code):
    assert (await answer(Bridge(None, SandboxSettings()), call))["code"] == code


async def test_json_text_is_sent_as_it_is_and_in_one_line():
    async def ready(arguments):
        return ReadyJson(b'{"a":  1.50,\n"a": 1e2}')  # a spelling that would be lost if it were parsed and encoded

    bridge = Bridge(FunctionTools({"ready": ready}), SandboxSettings())
    sent = await line(bridge, ToolCall("7", "ready", {}))
    assert sent == b'{"type":"__tool_result__","call_id":"7","result":{"a":  1.50, "a": 1e2}}\n'


async def test_large_answers_that_come_at_once_are_encoded_with_a_turn_of_the_event_loop_between_them(monkeypatch):
    """Otherwise 32 answers of 8 MB would hold up the event loop until all of them are encoded."""
    go, turns, encoded_at = anyio.Event(), 0, []
    from sandbox.run import bridge as module

    encode = module.encode

    def watched(value):
        encoded_at.append(turns)
        return encode(value)

    async def big(arguments):
        await go.wait()
        return "x" * 100_000

    monkeypatch.setattr(module, "encode", watched)
    bridge = Bridge(FunctionTools({"big": big}), SandboxSettings())
    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(line, bridge, ToolCall(str(number), "big", {}))
        await anyio.wait_all_tasks_blocked()
        go.set()
        while len(encoded_at) < 8:
            await anyio.lowlevel.checkpoint()
            turns += 1
    assert len({*encoded_at}) == 8


class Kind(FunctionTools):
    """A tool whose schema takes a number, of a server or not."""

    def __init__(self, server: str | None) -> None:
        async def wait(arguments):
            return float(arguments["seconds"])

        self._server = server
        super().__init__({"s.wait": wait})

    def declarations(self):
        schema = {"type": "object", "properties": {"seconds": {"type": "number"}}}
        return [ToolDeclaration("s.wait", input_schema=schema, server=self._server, tool=self._server and "wait")]


async def test_what_a_servers_tool_is_given_is_read_by_whoever_lends_it():
    """The client that lends the tool may convert a string to a number. A check here would refuse it before that."""
    call = ToolCall("7", "s.wait", {"seconds": "1"})
    assert (await answer(Bridge(Kind("s"), SandboxSettings()), call))["result"] == 1
    assert (await answer(Bridge(Kind(None), SandboxSettings()), call))["code"] == "invalid_arguments"
    assert (await answer(Bridge(Kind("s"), SandboxSettings()), ToolCall("7", "s.wait", [1])))["code"] == (
        "invalid_arguments"
    )


async def test_arguments_that_are_too_deep_for_a_schema_are_told():
    async def echo(arguments):
        return arguments

    arms = [{"type": "object", "required": ["x"], "properties": {"x": {"$ref": f"#/$defs/a{n}"}}} for n in range(30)]
    schema = {"properties": {"x": {"anyOf": arms}}, "$defs": {f"a{n}": {"anyOf": arms} for n in range(30)}}
    value: Any = 1
    for _ in range(40):
        value = {"x": value}
    tools = FunctionTools({"echo": echo}, {"echo": schema})
    frame = await answer(Bridge(tools, SandboxSettings()), ToolCall("7", "echo", value))
    assert frame["code"] == "invalid_arguments"
    assert "tools.echo: the arguments are too deep" in frame["error"]
