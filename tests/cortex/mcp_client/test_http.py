"""MCP servers behind a URL: real ones on loopback."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest

from cortex.mcp_client import McpUnavailable
from cortex.mcp_client.remote import _Client
from cortex.settings.mcp_servers import McpServerSettings
from sandbox import ToolError

from .support import BOUND_S, PROGRAMS, Clock, patiently, result, servers, until
from .web import Web, large, packed, web

# Once it has its answer, the SDK closes the response and leaves the loop over `EventSource` in the middle. What our
# `_Body` and all below it holds is closed by then; the generators of httpx2 above it are the SDK's, and are left to the
# garbage collector, which trio warns of. Nothing is lost with them: the connection is closed.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:Async generator 'httpx2\._(sse\.EventSource\.__aiter__|models\.Response\.aiter_(text|bytes|raw))' was garbage "
    r"collected:ResourceWarning"
)


@pytest.fixture
def site() -> Iterator[Web]:
    with web() as server:
        yield server


def at(site: Web, **settings: object) -> McpServerSettings:
    return McpServerSettings.model_validate({"url": site.url, **settings})


async def test_headers_are_sent_with_their_variables_and_a_session_is_kept(site: Web, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_TOKEN", "token-of-mine")
    monkeypatch.setenv("MY_PORT", str(site.server_port))
    url, headers = "http://127.0.0.1:${env:MY_PORT}/mcp", {"Authorization": "Bearer ${env:MY_TOKEN}"}
    async with servers(s=McpServerSettings(url=url, headers=headers)) as mcp:
        for _ in range(2):
            assert await result(mcp, "s.echo", a=1) == {"a": 1}
        assert mcp.statuses()[0].protocol == "2025-06-18"
    assert {headers.get("authorization") for _, _, headers, _ in lowered(site)} == {"Bearer token-of-mine"}
    assert len(site.sessions) == 1
    assert site.heard[-1][0] == "DELETE"


def lowered(site: Web):
    for method, path, headers, message in site.heard:
        yield method, path, {name.lower(): value for name, value in headers.items()}, message


async def test_a_session_that_the_server_forgot_is_begun_anew(site: Web):
    clock = Clock()
    async with servers(now=clock, s=at(site)) as mcp:
        await result(mcp, "s.echo")
        site.sessions.clear()
        with pytest.raises(McpUnavailable):
            await result(mcp, "s.echo")
        await until(lambda: mcp.statuses()[0].state == "failed" and mcp.statuses()[0].error is not None)
        clock.now += 2
        assert await result(mcp, "s.echo", a=2) == {"a": 2}


@pytest.mark.parametrize(("misbehave", "code"), [(large, "result_too_large"), (packed, "mcp_-32700")])
async def test_bodies_are_bounded_before_they_are_kept_and_not_unpacked(site: Web, misbehave, code: str):
    async with servers(settings={"max_result_bytes": 1_000}, s=at(site)) as mcp:
        await result(mcp, "s.echo")
        site.misbehave = lambda message: misbehave(message, 5_000_000) if message["method"] == "tools/call" else None
        with pytest.raises(ToolError, match=r"longer than|Failed to parse") as caught:
            await result(mcp, "s.echo")
        assert caught.value.code == code
        site.misbehave = lambda _: None
        assert await result(mcp, "s.echo", a=1) == {"a": 1}


def streamed(*events: str) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Type": "text/event-stream"}, "".join(f"{event}\n\n" for event in events).encode()


def answered(message: dict[str, Any], **fields: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], **fields})


async def test_messages_of_each_kind_come_through_a_stream_of_events(site: Web, caplog):
    caplog.set_level("DEBUG", logger="motor_cortex.mcp")

    def in_events(message: dict[str, Any]) -> Any:
        if message.get("method") != "tools/call":
            return None
        logged = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": ["words"]}}
        asked = {"jsonrpc": "2.0", "id": "q", "method": "ping"}
        end = answered(message, result={"content": [], "structuredContent": {"a": 5}})
        return streamed(
            ": hello",
            "id: 1",
            "event: other\ndata: 1",
            f"data: {json.dumps(logged)}",
            f"data: {json.dumps(asked)}",
            f"data: {end}",
        )

    site.misbehave = in_events
    async with servers(s=at(site)) as mcp:
        assert await result(mcp, "s.echo") == {"a": 5}
        await until(lambda: any(m.get("id") == "q" and m.get("result") == {} for *_, m in site.heard))
    assert 'An MCP server logs: ["words"]' in caplog.text


@pytest.mark.parametrize(
    ("said", "code"),
    [("{}", "mcp_-32700"), ("[", "mcp_-32700"), ('{"x": ["words"]}', "mcp_-32700")],
)
@pytest.mark.parametrize("is_stream", [False, True])
async def test_an_invalid_message_is_not_quoted_in_the_error(site: Web, said: str, code: str, is_stream: bool):
    def other(message: dict[str, Any]) -> Any:
        answer = streamed(f"data: {said}") if is_stream else (200, {}, said.encode())
        return answer if message.get("method") == "tools/call" else None

    async with servers(s=at(site)) as mcp:
        await result(mcp, "s.echo")
        site.misbehave = other
        with pytest.raises(ToolError, match="the answer is no message") as caught:
            await result(mcp, "s.echo")
        assert caught.value.code == code
        assert "words" not in str(caught.value)
        site.misbehave = lambda _: None
        assert await result(mcp, "s.echo", a=1) == {"a": 1}


@pytest.mark.parametrize("is_stream", [False, True])
async def test_an_error_of_a_server_is_told_by_its_words(site: Web, is_stream: bool):
    def refuse(message: dict[str, Any]) -> Any:
        if message.get("method") != "tools/call":
            return None
        said = answered(message, error={"code": -32_602, "message": "no such commit"})
        return streamed(f"data: {said}") if is_stream else (400, {}, said.encode())

    site.misbehave = refuse
    async with servers(s=at(site)) as mcp:
        with pytest.raises(ToolError, match="no such commit") as caught:
            await result(mcp, "s.echo")
        assert caught.value.code == "mcp_-32602"


async def test_a_server_that_refuses_us_is_told_with_its_status(site: Web):
    site.misbehave = lambda _: (401, {}, b"no")
    async with servers(s=at(site)) as mcp:
        with pytest.raises(McpUnavailable, match="HTTP 401"):
            await mcp.tools_of("s")


async def test_our_headers_go_nowhere_else(site: Web):
    with web() as other:
        site.misbehave = lambda _: (307, {"Location": other.url}, b"")
        async with servers(s=at(site, headers={"X-Key": "mine"})) as mcp:
            with pytest.raises(McpUnavailable, match="not followed"):
                await mcp.tools_of("s")
        assert other.heard == []


async def test_tokens_in_an_address_are_in_no_error_and_in_no_log(site: Web, caplog: pytest.LogCaptureFixture):
    caplog.set_level("INFO", logger="mcp")
    secret = "pathTOKENpathTOKEN77"
    site.misbehave = lambda _: (307, {"Location": f"http://127.0.0.1:1/{secret}?api_key={secret}"}, b"")
    address = at(site).model_copy(update={"url": f"{site.url}?api_key={secret}"})
    async with servers(s=address) as mcp:
        with pytest.raises(McpUnavailable, match="not followed") as caught:
            await mcp.tools_of("s")
        assert secret not in str(caught.value) + str(mcp.statuses()[0].error)
    assert "not followed" in caplog.text
    assert secret not in caplog.text


async def test_an_address_where_no_server_listens_is_a_clear_error():
    # Taken and not listened at, so that nobody else comes to have it meanwhile.
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        async with servers(s=McpServerSettings(url=url)) as mcp:
            with pytest.raises(McpUnavailable, match="it cannot be reached"):
                await mcp.tools_of("s")


async def test_a_server_that_goes_away_is_told_and_found_again(site: Web):
    clock = Clock()
    async with servers(now=clock, s=at(site)) as mcp:
        await result(mcp, "s.echo")

        def hang_up(message):
            raise ConnectionAbortedError

        site.misbehave, site.handle_error = hang_up, lambda *_: None  # type: ignore[method-assign]
        with pytest.raises(McpUnavailable, match="whether it did anything is not known"):
            await result(mcp, "s.echo")
        site.misbehave = lambda _: None
        await until(lambda: mcp.statuses()[0].state == "failed" and mcp.statuses()[0].error is not None)
        clock.now += 2
        assert await result(mcp, "s.echo", a=2) == {"a": 2}


async def test_a_server_that_takes_a_call_and_says_nothing_is_given_up(site: Web):
    free = threading.Event()
    async with servers(settings={"call_timeout_ms": 200}, s=at(site)) as mcp:
        await patiently(mcp, "s.echo")
        site.misbehave = lambda message: free.wait(BOUND_S) and None if message["method"] == "tools/call" else None
        with pytest.raises(ToolError) as caught:
            await result(mcp, "s.echo")
        assert (caught.value.code, caught.value.retryable) == ("timeout", True)
        free.set()
        await until(lambda: any(m.get("method") == "notifications/cancelled" for *_, m in site.heard))


async def test_an_answer_that_does_not_begin_holds_up_nothing_for_ever(site: Web):
    free = threading.Event()
    site.misbehave = lambda _: free.wait(BOUND_S) and None
    async with _Client(0.1, timeout=None) as client:
        with pytest.raises(httpx2.ReadTimeout):
            await client.post(site.url, json={"method": "notifications/cancelled"})
    free.set()


@pytest.mark.usefixtures("nothing_left")
async def test_a_server_of_the_new_kind_over_http_tells_when_its_tools_change():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    program = subprocess.Popen([sys.executable, str(PROGRAMS / "good.py"), str(port)], stderr=subprocess.DEVNULL)
    try:
        await until(lambda: is_open(port))
        async with servers(good=McpServerSettings(url=f"http://127.0.0.1:{port}/mcp")) as mcp:
            assert await result(mcp, "good.add", a=1, b=2) == {"result": 3}
            assert mcp.statuses()[0].protocol == "2026-07-28"
            with anyio.fail_after(BOUND_S):
                while "good.grown" not in [tool.name for tool in mcp.known()]:
                    await result(mcp, "good.grow", name="grown")
                    await anyio.sleep(0.1)
    finally:
        program.kill()
        program.wait()


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
