"""Many who connect, and many sessions that nobody closes, do not shut out those who have the token."""

from __future__ import annotations

import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import anyio
import httpx2
import pytest
from anyio.abc import SocketStream

from cortex.mcp_server import HttpLimits

from .scripted import BOUND_S, ScriptedCortex
from .test_http import BEARER, TAKES, TOKEN, serving
from .test_stdio import ENVELOPE, HELLO, READY, call

HEAD = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n".encode()
SOON = 0.05
PING = {"jsonrpc": "2.0", "id": 99, "method": "ping"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[SocketStream]:
    async with await anyio.connect_tcp("127.0.0.1", httpx2.URL(url).port) as stream:
        yield stream


async def is_closed(stream: SocketStream) -> bool:
    """Waits for it: whatever is said before the end is passed over."""
    try:
        while True:
            await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return True


@asynccontextmanager
async def asking(url: str) -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(base_url=url, headers={**TAKES, **BEARER}, timeout=BOUND_S, trust_env=False) as http:
        yield http


async def post(http: httpx2.AsyncClient, message: object, session: str = "", **headers: str) -> httpx2.Response:
    given = {**headers, "mcp-session-id": session} if session else headers
    return await http.post("", headers=given, content=json.dumps(message))


async def opened(http: httpx2.AsyncClient) -> str:
    answer = await post(http, HELLO)
    assert answer.status_code == 200, answer.text
    session = answer.headers["mcp-session-id"]
    await post(http, READY, session)
    return session


UNFINISHED = (b"", b"POST /mcp HT", HEAD, HEAD + b"Content-Length: 9\r\n\r\n", HEAD + b"Content-Length: 9\r\n\r\n{")


async def test_a_connection_on_which_no_whole_request_comes_is_closed(tmp_path, caplog):
    async with AsyncExitStack() as stack:
        limits = HttpLimits(waiting_s=SOON)
        url = await stack.enter_async_context(serving(ScriptedCortex(), tmp_path, limits=limits))
        streams = [await stack.enter_async_context(connected(url)) for _ in UNFINISHED]
        for stream, sent in zip(streams, UNFINISHED, strict=True):
            with suppress(anyio.BrokenResourceError):  # it is so late that nobody waits any more
                await stream.send(sent)
        for stream in streams:
            assert await is_closed(stream)
    assert [record.message for record in caplog.records if record.levelname == "ERROR"] == []


async def test_bytes_that_trickle_in_gain_no_time(tmp_path):
    async def trickle(stream: SocketStream) -> None:
        with suppress(anyio.BrokenResourceError):
            while True:
                await stream.send(b"P")
                await anyio.sleep(SOON / 4)

    async def answered(stream: SocketStream) -> bool:
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            await stream.send(HEAD + b"Content-Length: 0\r\n\r\n")
            return (await stream.receive()).startswith(b"HTTP/1.1 ")
        return False

    limits = HttpLimits(waiting_s=4 * SOON)
    async with serving(ScriptedCortex(), tmp_path, limits=limits) as url, AsyncExitStack() as stack:
        # A request that is whole is answered, and the next one has as long as the first. On a machine that stands still
        # for a moment the first may come too late.
        stream = await stack.enter_async_context(connected(url))
        while not await answered(stream):
            stream = await stack.enter_async_context(connected(url))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(trickle, stream)
            assert await is_closed(stream)
            tasks.cancel_scope.cancel()


async def test_an_answer_that_takes_longer_is_waited_for(tmp_path):
    async def work() -> None:
        await anyio.sleep(4 * SOON)

    cortex, answer = ScriptedCortex(work=work), None
    async with serving(cortex, tmp_path, limits=HttpLimits(waiting_s=SOON)) as url, asking(url) as http:
        while answer is None:
            try:
                answer = await post(http, call(1), await opened(http))
            except httpx2.TransportError:
                # On a machine that stands still for a moment a request may come too late. One that came may not end so.
                assert not cortex.began.is_set()
    assert '"isError":false' in answer.text


async def test_those_who_only_connect_make_way_for_those_who_ask(tmp_path):
    go = anyio.Event()
    cortex = ScriptedCortex(work=go.wait)
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(serving(cortex, tmp_path, limits=HttpLimits(connections=5)))
        http = await stack.enter_async_context(asking(url))
        session = await opened(http)
        texts: list[str] = []

        async def calling() -> None:
            texts.append((await post(http, call(1), session)).text)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(calling)
            await cortex.began.wait()
            idle = [await stack.enter_async_context(connected(url)) for _ in range(6)]
            # The oldest go first, and never one that is being answered.
            assert await is_closed(idle[0])
            async with asking(url) as other:
                assert (await post(other, PING, session)).status_code == 200
            place = ("127.0.0.1", httpx2.URL(url).port)
            for _ in range(12):  # all before the server has looked
                stack.enter_context(socket.create_connection(place, BOUND_S))
            async with asking(url) as other:
                assert (await post(other, PING, session)).status_code == 200
            go.set()
        assert '"isError":false' in texts[0]


async def test_a_new_client_ends_the_session_that_was_idle_longest(tmp_path):
    limits = HttpLimits(sessions=3)
    async with serving(ScriptedCortex(), tmp_path, limits=limits) as url, asking(url) as http:
        one, two, three = [await opened(http) for _ in range(3)]
        modern = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "core_energy"}
        assert (await post(http, call(1, **ENVELOPE), **modern)).status_code == 200
        # Which needs no session, and so has ended none.
        assert [(await post(http, PING, name)).status_code for name in (two, three, one)] == [200] * 3
        four = await opened(http)
        statuses = {name: (await post(http, PING, name)).status_code for name in (one, two, three, four)}
        assert statuses == {one: 200, two: 404, three: 200, four: 200}
        # One that its client has closed makes room by itself.
        assert (await http.delete("", headers={"mcp-session-id": three})).status_code == 200
        five = await opened(http)
        statuses = {name: (await post(http, PING, name)).status_code for name in (one, four, five)}
        assert statuses == {one: 200, four: 200, five: 200}


async def test_of_sessions_that_listen_one_goes_last_and_of_those_that_wait_for_an_answer_none(tmp_path, caplog):
    cortex = ScriptedCortex(work=anyio.sleep_forever)
    async with (
        serving(cortex, tmp_path, limits=HttpLimits(sessions=3)) as url,
        asking(url) as http,
        anyio.create_task_group() as tasks,
    ):
        calling, listening, idle = [await opened(http) for _ in range(3)]
        tasks.start_soon(post, http, call(1), calling)
        await cortex.began.wait()
        async with http.stream("GET", "", headers={"mcp-session-id": listening}) as events:
            assert events.status_code == 200
            await opened(http)
            assert (await post(http, PING, idle)).status_code == 404
            busy = [await opened(http) for _ in range(1)]
            # The stream is still there; only when there is nothing else to end, it is ended.
            assert (await post(http, PING, listening)).status_code == 200
            tasks.start_soon(post, http, call(2), busy[0])
            while cortex.waiting < 2:
                await anyio.sleep(0.01)
            busy.append(await opened(http))
            assert (await post(http, PING, listening)).status_code == 404
        tasks.start_soon(post, http, call(3), busy[1])
        while cortex.waiting < 3:
            await anyio.sleep(0.01)
        refused = await post(http, HELLO)
        assert (refused.status_code, cortex.cancelled) == (503, 0)
        tasks.cancel_scope.cancel()
    assert caplog.text.count("each new one ends") == 1
