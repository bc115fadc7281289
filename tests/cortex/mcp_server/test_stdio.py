"""The protocol through pipes and sockets, with clients that do what clients should not."""

from __future__ import annotations

import json
import os
import socket
import tracemalloc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
import pytest

from cortex import Answer
from cortex.mcp_server import mcp_server, serve_stdio
from cortex.mcp_server.stdio import Ends, lines
from cortex.mcp_wire.messages import MESSAGE_LIMITS

from .scripted import BOUND_S, ScriptedCortex, settings

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
}


def call(number: int, name: str = "core_energy", **meta: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": {"code": "x"}, "_meta": meta}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


class Wire:
    """The client's side."""

    def __init__(self, reading: int, writing: int) -> None:
        self.reading = reading
        self.writing = writing
        self._lines = lines(reading, 10_000_000)

    def send(self, *messages: Any) -> None:
        for message in messages:
            os.write(self.writing, message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    async def send_beside(self, *messages: Any) -> None:
        """In a thread: a server that does not read holds up the sender. A test that fails must not wait for it."""
        await anyio.to_thread.run_sync(self.send, *messages, abandon_on_cancel=True)

    async def next(self) -> dict[str, Any]:
        with anyio.fail_after(BOUND_S):
            return json.loads(await anext(self._lines))

    def leave(self) -> None:
        for end in {self.reading, self.writing}:
            with suppress(OSError):
                os.close(end)


@pytest.fixture(params=["pipes", "socket"])
def wires(request):
    """The two ends of the server, and those of its client; Node gives its children sockets, most others pipes."""
    if request.param == "pipes":
        (request_reader, request_writer), (answer_reader, answer_writer) = os.pipe(), os.pipe()
        ends, wire = Ends(request_reader, answer_writer), Wire(answer_reader, request_writer)
    else:
        ours, theirs = (end.detach() for end in socket.socketpair())
        ends, wire = Ends(ours, ours), Wire(theirs, theirs)
    yield ends, wire
    wire.leave()
    for end in {*ends}:
        os.close(end)


@asynccontextmanager
async def serving(cortex: ScriptedCortex, ends: Ends, tmp_path, **limits: Any) -> AsyncIterator[anyio.Event]:
    ended = anyio.Event()

    async def serve() -> None:
        await serve_stdio(mcp_server(cortex, settings(tmp_path), progress_s=0.01), ends, **limits)
        ended.set()

    with anyio.fail_after(BOUND_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            yield ended
            tasks.cancel_scope.cancel()


async def test_both_eras_are_answered_and_the_end_of_the_client_is_the_end(wires, tmp_path):
    ends, wire = wires
    async with serving(ScriptedCortex(), ends, tmp_path) as ended:
        wire.send(HELLO, READY, call(1))
        assert (await wire.next())["result"]["serverInfo"]["name"] == "motor-cortex"
        assert (await wire.next())["result"]["structuredContent"] == {"text": "2", "note": "Energy 0.95"}
        wire.leave()
        await ended.wait()


async def test_a_client_of_the_modern_era_needs_no_greeting(wires, tmp_path):
    ends, wire = wires
    async with serving(ScriptedCortex(), ends, tmp_path):
        wire.send(call(7, **ENVELOPE))
        answer = await wire.next()
        assert answer["id"] == 7
        assert answer["result"]["resultType"] == "complete"


async def test_progress_is_sent_only_to_clients_that_asked_for_it(wires, tmp_path):
    ends, wire = wires

    async def work() -> None:
        # The second call ends with the test: what is told of it may come late.
        await (anyio.sleep(0.1) if len(cortex.asked) == 1 else anyio.sleep_forever())

    cortex = ScriptedCortex(work=work)
    async with serving(cortex, ends, tmp_path):
        wire.send(HELLO, READY, call(1))
        assert [(await wire.next())["id"] for _ in range(2)] == [0, 1]
        wire.send(call(2, progressToken="p"))
        told = await wire.next()
        assert told["method"] == "notifications/progress"
        assert told["params"]["progressToken"] == "p"


async def test_lines_that_are_no_message_cost_nothing_but_themselves(wires, tmp_path, caplog):
    ends, wire = wires
    odd = [
        b"\n",
        b"hello\n",
        b"\xff\xfe\n",
        b"[" * 5_000 + b"\n",
        b"123\n",
        b'{"jsonrpc": "2.0"}\n',
        b'"' + b"9" * 5_000 + b"\n",
    ]
    cortex = ScriptedCortex()
    async with serving(cortex, ends, tmp_path):
        wire.send(HELLO, READY, *odd, call(1))
        assert [(await wire.next())["id"] for _ in range(2)] == [0, 1]
        wire.send({**call(2), "params": {"name": "core_energy", "arguments": "not an object"}}, call(3))
        answers = {answer["id"]: answer for answer in [await wire.next(), await wire.next()]}
        assert answers[2]["error"]["code"] == -32602
        assert "result" in answers[3]
    assert [name for name, _ in cortex.asked] == ["core_energy"] * 2
    assert caplog.text.count("no message of MCP") == 1


async def test_a_line_that_is_too_long_is_dropped_as_it_comes(wires, tmp_path, caplog):
    ends, wire = wires
    async with serving(ScriptedCortex(), ends, tmp_path, max_line_bytes=2_000):
        wire.send(HELLO, READY)
        await wire.next()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wire.send_beside, b"x" * 300_000 + b"\n", call(1))
            assert (await wire.next())["id"] == 1
    assert "more than 2000 bytes" in caplog.text


@pytest.mark.parametrize("number", [7, "seven"])
async def test_a_message_that_holds_too_much_is_refused_by_its_id(wires, tmp_path, caplog, number):
    ends, wire = wires
    cortex = ScriptedCortex()
    many = [[]] * MESSAGE_LIMITS.containers
    async with serving(cortex, ends, tmp_path):
        wire.send(HELLO, READY)
        await wire.next()
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "x", "arguments": many}}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wire.send_beside, message, call(1))
            answers = {answer["id"]: answer for answer in [await wire.next(), await wire.next()]}
    assert answers[number]["error"]["message"] == "The message is too large: more than 25000 objects and arrays"
    assert "result" in answers[1]
    assert len(cortex.asked) == 1
    assert caplog.text.count("which was refused") == 1


async def test_half_a_line_does_not_keep_the_server_from_stopping(wires, tmp_path):
    ends, wire = wires
    async with serving(ScriptedCortex(), ends, tmp_path):
        wire.send(HELLO, b'{"jsonrpc"')
        await wire.next()


async def test_a_long_answer_arrives_whole_and_the_last_one_too(wires, tmp_path):
    ends, wire = wires
    text = "é" * 200_000
    async with serving(ScriptedCortex(Answer(text)), ends, tmp_path):
        wire.send(HELLO, READY, call(1))
        await wire.next()
        assert (await wire.next())["result"]["content"][0]["text"] == text


async def test_a_client_that_takes_no_answers_is_left(wires, tmp_path, caplog):
    ends, wire = wires
    async with serving(ScriptedCortex(Answer("x" * 2_000_000)), ends, tmp_path, writing_s=0.1) as ended:
        wire.send(HELLO, READY, call(1))
        await ended.wait()
    assert "reads no answers" in caplog.text


async def test_calls_of_a_client_that_leaves_are_ended(wires, tmp_path):
    ends, wire = wires
    cortex = ScriptedCortex(work=anyio.sleep_forever)
    async with serving(cortex, ends, tmp_path) as ended:
        wire.send(HELLO, READY, call(1))
        await cortex.began.wait()
        wire.leave()
        await ended.wait()
    assert (cortex.waiting, cortex.cancelled) == (0, 1)


async def test_a_file_can_be_read_too(tmp_path):
    (tmp_path / "requests").write_bytes(b"one\n\ntwo\nthree")
    descriptor = os.open(tmp_path / "requests", os.O_RDONLY)
    try:
        assert [line async for line in lines(descriptor, 100)] == [b"one", b"two", b"three"]
    finally:
        os.close(descriptor)


async def test_a_line_without_an_end_is_not_kept():
    reading, writing = os.pipe()

    def flood() -> None:
        for _ in range(160):
            os.write(writing, b"x" * 65_536)
        os.write(writing, b"\nshort\n")
        os.close(writing)

    tracemalloc.start()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(anyio.to_thread.run_sync, flood, abandon_on_cancel=True))
            assert [line if isinstance(line, bytes) else line.reason async for line in lines(reading, 1_000)] == [
                "more than 1000 bytes",
                b"short",
            ]
        assert tracemalloc.get_traced_memory()[1] < 2_000_000
    finally:
        tracemalloc.stop()
        os.close(reading)
