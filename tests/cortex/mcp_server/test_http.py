"""The protocol over HTTP, on a real socket. The web server is asyncio's alone, and so are these tests."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from cortex.http import Address, listen
from cortex.mcp_server import ClientCalls, HttpDoor, HttpLimits, mcp_server, serve_http
from cortex.mcp_server.http import USUAL

from .scripted import BOUND_S, ScriptedCortex, settings
from .test_stdio import HELLO

TOKEN = "a-token-for-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
TAKES = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
PAGE = "https://inspector.example"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["legacy", "2026-07-28"])
def era(request) -> str:
    return request.param


@asynccontextmanager
async def serving(
    cortex: ScriptedCortex, tmp_path, stop: anyio.Event | None = None, limits: HttpLimits = USUAL
) -> AsyncIterator[str]:
    """Its URL."""
    listening = listen(Address("127.0.0.1", 0))
    port = listening.getsockname()[1]
    calls, until = ClientCalls(), stop or anyio.Event()
    server = mcp_server(cortex, settings(tmp_path), calls, progress_s=0.01)
    door = HttpDoor(TOKEN, ["cortex.example"], [PAGE])

    async def serve() -> None:
        await serve_http(server, listening, door, calls, until=until, limits=limits)

    with anyio.fail_after(BOUND_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            yield f"http://127.0.0.1:{port}/mcp"
            until.set()


@asynccontextmanager
async def client(url: str, era: str) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=BEARER, timeout=BOUND_S, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http), mode=era, read_timeout_seconds=BOUND_S) as asking,
    ):
        yield asking


async def test_clients_of_both_eras_are_answered_and_told_how_it_goes(tmp_path, era):
    told: list[float] = []
    enough = anyio.Event()

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)
        enough.set()

    async with serving(ScriptedCortex(work=enough.wait), tmp_path) as url, client(url, era) as asking:
        assert len((await asking.list_tools()).tools) == 6
        result = await asking.call_tool("execute_code", {"code": "return 1"}, progress_callback=on_progress)
        assert result.structured_content["result"] == {"total": 42}
    assert told


async def test_a_call_that_its_client_gives_up_is_ended(tmp_path, era):
    cortex = ScriptedCortex(work=anyio.sleep_forever)
    async with serving(cortex, tmp_path) as url, client(url, era) as asking:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asking.call_tool, "core_execute", {"code": "x"})
            await cortex.began.wait()
            tasks.cancel_scope.cancel()
        while not cortex.cancelled:
            await anyio.sleep(0.01)
    assert cortex.waiting == 0


async def test_a_server_that_stops_ends_its_calls_and_then_itself(tmp_path, era):
    cortex, stop = ScriptedCortex(work=anyio.sleep_forever), anyio.Event()
    texts: list[str] = []

    async with serving(cortex, tmp_path, stop) as url, client(url, era) as asking:

        async def call() -> None:
            texts.append((await asking.call_tool("core_execute", {"code": "x"})).content[0].text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(call)
            await cortex.began.wait()
            stop.set()
    assert texts == ["EXECUTION_DENIED: The server is stopping"]
    assert cortex.waiting == 0


async def test_only_requests_with_our_host_an_allowed_origin_and_the_token_get_in(tmp_path):
    cortex = ScriptedCortex()
    tries: list[tuple[dict[str, str], int]] = [
        ({}, 401),
        ({"Authorization": "Bearer wrong"}, 401),
        ({**BEARER, "Host": "evil.example"}, 421),
        ({**BEARER, "Origin": "http://evil.example"}, 403),
        ({**BEARER, "Origin": "null"}, 403),
        ({**BEARER, "Host": "cortex.example", "Origin": PAGE}, 200),
        (BEARER, 200),
    ]
    async with (
        serving(cortex, tmp_path) as url,
        httpx2.AsyncClient(trust_env=False, headers=TAKES, timeout=BOUND_S) as http,
    ):
        for headers, status in tries:
            answer = await http.post(url, headers=headers, content=json.dumps(HELLO))
            assert answer.status_code == status, (headers, answer.text)
            assert status != 401 or answer.headers["www-authenticate"] == "Bearer"
        for method in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
            assert (await http.request(method, url)).status_code == 401
            assert (await http.request(method, url.replace("/mcp", "/"))).status_code == 401
        assert (await http.get(url.replace("/mcp", "/docs"), headers=BEARER)).status_code == 404
    assert cortex.asked == []


async def test_a_page_that_may_call_is_shown_its_answers(tmp_path):
    async with serving(ScriptedCortex(), tmp_path) as url, httpx2.AsyncClient(trust_env=False, timeout=BOUND_S) as http:
        asked = {
            "Origin": PAGE,
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization",
        }
        may = await http.options(url, headers=asked)
        assert (may.status_code, may.headers["access-control-allow-origin"]) == (204, PAGE)
        assert may.headers["access-control-allow-headers"] == "authorization"
        answer = await http.post(url, headers={**TAKES, **BEARER, "Origin": PAGE}, content=json.dumps(HELLO))
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, PAGE)
        other = await http.options(url, headers={**asked, "Origin": "https://evil.example"})
        assert (other.status_code, "access-control-allow-origin" in other.headers) == (403, False)


async def test_a_body_is_bounded_and_a_bad_one_is_an_answer(tmp_path):
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(USUAL.body_bytes // 1_000_000 + 2):
            yield b"x" * 1_000_000

    modern = {"MCP-Protocol-Version": "2026-07-28"}
    async with (
        serving(ScriptedCortex(), tmp_path) as url,
        httpx2.AsyncClient(trust_env=False, headers={**TAKES, **BEARER}, timeout=BOUND_S) as http,
    ):
        for more in ({}, modern):
            answers: list[Any] = [await http.post(url, headers=more, content=pieces())]
            bodies = (b"", b"{", b"[" * 20_000, b"\xff", b"[]", b"1" * 5_000)
            answers += [await http.post(url, headers=more, content=body) for body in bodies]
            assert [answer.status_code for answer in answers] == [413, *[400] * 6], more
        assert (await http.post(url, content=json.dumps(HELLO))).status_code == 200


async def test_two_clients_at_once_have_sessions_of_their_own(tmp_path):
    cortex = ScriptedCortex()
    async with serving(cortex, tmp_path) as url, client(url, "legacy") as one, client(url, "2026-07-28") as two:
        for asking in (one, two, one):
            assert not (await asking.call_tool("core_energy", {})).is_error
    assert len(cortex.asked) == 3


def test_a_place_that_is_taken_is_an_error():
    with listen(Address("127.0.0.1", 0)) as listening, pytest.raises(OSError, match="in use"):
        listen(Address("127.0.0.1", listening.getsockname()[1]))


def test_small_answers_do_not_wait_for_those_before():
    with listen(Address("127.0.0.1", 0)) as listening:
        # By this asyncio knows that it may turn the waiting off.
        assert listening.proto == socket.IPPROTO_TCP
