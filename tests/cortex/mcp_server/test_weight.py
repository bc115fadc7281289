"""The largest messages that are read, of clients that mean ill: how long each holds the event loop up, and what the
host grows by."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from cortex.mcp_client.server import _load_sdk
from cortex.mcp_server import ClientCalls, mcp_server, serve_stdio
from cortex.mcp_server.http import USUAL
from cortex.mcp_server.stdio import MAX_LINE_BYTES, Ends
from tests.entry_points.test_wires import BOUND_S, HEAD, MODERN, TOKEN, judged, send, serving

from .scripted import ScriptedCortex, settings

# Each becomes four characters where an error is written down.
LONG = b'["' + b"\x7f" * (USUAL.body_bytes - 1_000) + b'"]'
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"%b","params":%b}'
BODIES = {
    "no message": (b'{"x":%b}' % LONG, b"413"),
    "a list": (LONG, b"400"),
    "an id": (b'{"jsonrpc":"2.0","id":%b,"method":"ping"}' % LONG[1:-1], b"413"),
    "initialize": (REQUEST % (b"initialize", b'{"protocolVersion":%b}' % LONG), b"413"),
    "a call": (REQUEST % (b"tools/call", b'{"name":"core_energy","arguments":{"x":%b}}' % LONG), b""),
}


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    _load_sdk()


@pytest.mark.parametrize("era", [b"", MODERN], ids=["handshake", "modern"])
@pytest.mark.parametrize("what", BODIES)
def test_over_http(what, era, tmp_path):
    body, status = BODIES[what]
    assert USUAL.body_bytes - 1_000 < len(body) <= USUAL.body_bytes
    (tmp_path / "payload").write_bytes(HEAD + TOKEN + era + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def ask() -> None:
        async with serving(tmp_path) as port:
            assert b"HTTP/1.1 " + status in await send(port, tmp_path / "payload")

    judged(ask, what)


@pytest.mark.parametrize("what", BODIES)
def test_through_pipes(what, tmp_path: Path):
    assert USUAL.body_bytes == MAX_LINE_BYTES
    (tmp_path / "payload").write_bytes(BODIES[what][0] + b"\n")

    async def serve() -> None:
        reading, writing = os.pipe()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        client = await asyncio.create_subprocess_exec("cat", str(tmp_path / "payload"), stdout=writing)
        os.close(writing)
        server = mcp_server(ScriptedCortex(), settings(tmp_path), ClientCalls())
        await asyncio.wait_for(serve_stdio(server, Ends(reading, nowhere)), BOUND_S)
        await client.wait()
        os.close(reading)
        os.close(nowhere)

    judged(serve, what)
