"""The conversation of an MCP client is the session that the server gave it, and never one that the client names."""

from __future__ import annotations

import json

import httpx2
import pytest
from mcp import Client

from cortex import MotorCortex, Settings
from cortex.mcp_server import mcp_server

from .scripted import BOUND_S, ScriptedCortex, settings
from .test_http import BEARER, TAKES, client, serving
from .test_stdio import HELLO

RUN = {"purpose": "x", "code": "return 1"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_a_session_over_http_is_one_conversation_and_another_is_another(tmp_path):
    cortex = ScriptedCortex()
    async with serving(cortex, tmp_path) as url, client(url, "legacy") as one, client(url, "legacy") as other:
        for asking in (one, other, one):
            await asking.call_tool("core_execute", RUN)
    first, second, third = cortex.conversations
    assert first.startswith("mcp:")
    assert (first == third, first == second) == (True, False)


async def test_the_conversation_does_not_tell_the_id_of_the_session(tmp_path):
    """To know the id is to speak as that client, and the owner's list of stores may be shown around."""
    cortex = ScriptedCortex()
    async with (
        serving(cortex, tmp_path) as url,
        httpx2.AsyncClient(headers={**BEARER, **TAKES}, timeout=BOUND_S) as http,
    ):
        answer = await http.post(url, content=json.dumps(HELLO))
        session = answer.headers["mcp-session-id"]
        headers = {"mcp-session-id": session}
        await http.post(url, headers=headers, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "core_execute", "arguments": RUN}}
        assert (await http.post(url, headers=headers, json=call)).status_code == 200
        assert (await http.post(url, headers={"mcp-session-id": "0" * 32}, json=call)).status_code == 404
    [conversation] = cortex.conversations
    assert session not in conversation


async def test_a_client_of_the_era_without_sessions_has_no_conversation_whatever_it_sends(tmp_path):
    cortex = ScriptedCortex()
    async with serving(cortex, tmp_path) as url:
        async with client(url, "legacy") as asking:
            await asking.call_tool("core_execute", RUN)
        async with client(url, "2026-07-28") as asking:
            await asking.call_tool("core_execute", RUN)
        async with httpx2.AsyncClient(headers={**BEARER, **TAKES}, timeout=BOUND_S) as http:
            envelope = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            params = {"name": "core_execute", "arguments": RUN, "_meta": envelope}
            call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
            headers = {
                "mcp-protocol-version": "2026-07-28",
                "mcp-session-id": "chosen-by-the-client",
                "mcp-method": "tools/call",
                "mcp-name": "core_execute",
            }
            answer = await http.post(url, headers=headers, json=call)
            assert answer.status_code == 200, answer.text
    assert cortex.conversations[1:] == [None, None]


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_the_one_client_of_a_pipe_has_one_conversation_and_each_pipe_its_own(tmp_path, era):
    cortex = ScriptedCortex()
    for _ in range(2):
        async with Client(mcp_server(cortex, settings(tmp_path)), mode=era) as asking:
            for _ in range(2):
                await asking.call_tool("core_execute", RUN)
    first, again, second, last = cortex.conversations
    assert (first == again, second == last, first == second) == (True, True, False)


@pytest.mark.deno
async def test_what_code_of_one_client_keeps_is_there_for_that_client_and_for_no_other(tmp_path, nothing_left):
    chosen = Settings(home=tmp_path, energy={"cost_isolated": 0})

    async def told(asking: Client, code: str) -> str:
        return (await asking.call_tool("execute_code", {"code": code})).content[0].text

    async with (
        MotorCortex(chosen) as cortex,
        serving(cortex, tmp_path) as url,
        client(url, "legacy") as one,
        client(url, "legacy") as other,
        client(url, "2026-07-28") as modern,
    ):
        await told(one, 'await store.set("n", 41)')
        assert await told(one, 'return (await store.get("n")) + 1') == "42"
        assert await told(other, "return await store.keys()") == "[]"
        assert "this run belongs to none" in await told(modern, "return await store.keys()")
