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
from cortex.mcp_wire.messages import MESSAGE_LIMITS

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


async def test_silent_connections_make_way_for_connections_with_requests(tmp_path):
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


async def test_a_connection_without_the_token_has_a_shorter_timeout(tmp_path):
    limits = HttpLimits(waiting_s=BOUND_S, stranger_s=SOON)
    async with serving(ScriptedCortex(), tmp_path, limits=limits) as url, asking(url) as http:
        session = await opened(http)
        async with connected(url) as silent, connected(url) as talking:
            await talking.send(HEAD.replace(TOKEN.encode(), b"wrong"))
            assert await is_closed(silent)
            assert await is_closed(talking)
        # The connection of the client is older than both.
        (kept,) = http._transport._pool.connections
        assert (await post(http, PING, session)).status_code == 200
        assert http._transport._pool.connections == [kept]


async def test_silent_connections_keep_no_client_out(tmp_path):
    limits = HttpLimits(strangers=4, stranger_s=BOUND_S, moment_s=SOON)
    async with serving(ScriptedCortex(), tmp_path, limits=limits) as url, AsyncExitStack() as stack:
        place = ("127.0.0.1", httpx2.URL(url).port)

        async def crowding() -> None:
            while True:
                await stack.enter_async_context(await anyio.connect_tcp(*place))
                await anyio.sleep(SOON / 10)

        async with anyio.create_task_group() as tasks, asking(url) as kept:
            session = await opened(kept)
            tasks.start_soon(crowding)
            for _ in range(5):
                assert (await post(kept, PING, session)).status_code == 200
                async with asking(url) as fresh:
                    assert (await post(fresh, PING, session)).status_code == 200
            tasks.cancel_scope.cancel()


async def test_a_new_connection_has_a_moment_to_send_its_request_before_it_is_closed(tmp_path):
    limits = HttpLimits(strangers=1, stranger_s=BOUND_S, moment_s=BOUND_S)
    answers: list[int] = []
    async with (
        serving(ScriptedCortex(), tmp_path, limits=limits) as url,
        asking(url) as http,
        connected(url) as first,
        anyio.create_task_group() as tasks,
    ):

        async def ask() -> None:
            answers.append((await post(http, HELLO)).status_code)

        tasks.start_soon(ask)
        await anyio.sleep(4 * SOON)
        assert answers == []  # its turn comes when the first has spoken, or gone
        await first.send(HEAD + b"Content-Length: 0\r\n\r\n")
        assert (await first.receive()).startswith(b"HTTP/1.1 ")
    assert answers == [200]


async def test_requests_beyond_the_limit_are_told_to_retry_later(tmp_path):
    cortex = ScriptedCortex(work=anyio.sleep_forever)
    async with (
        serving(cortex, tmp_path, limits=HttpLimits(connections=1)) as url,
        asking(url) as http,
        anyio.create_task_group() as tasks,
    ):
        session = await opened(http)
        tasks.start_soon(post, http, call(1), session)
        await cortex.began.wait()
        refused = await post(http, PING, session)
        assert (refused.status_code, "try again" in refused.text) == (503, True)
        tasks.cancel_scope.cancel()


MANY = [[]] * MESSAGE_LIMITS.containers


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
async def test_a_message_that_holds_too_much_is_refused_by_its_id(tmp_path, version):
    cortex = ScriptedCortex()
    asked = {"jsonrpc": "2.0", "id": "mine", "method": "tools/call"}
    async with serving(cortex, tmp_path) as url, asking(url) as http:
        message = {**asked, "params": {"name": "core_energy", "arguments": {"x": MANY}}}
        refused = await post(http, message, **{"mcp-protocol-version": version})
    assert refused.status_code == 413
    assert refused.json()["id"] == "mine"
    assert refused.json()["error"]["message"] == "The message is too large: more than 25000 objects and arrays"
    assert cortex.asked == []


@pytest.mark.parametrize(("version", "code"), [("2025-06-18", -32602), ("2026-07-28", -32600)])
async def test_what_is_no_message_is_refused_by_its_id_and_not_quoted(tmp_path, version, code):
    async with serving(ScriptedCortex(), tmp_path) as url, asking(url) as http:
        message = {"jsonrpc": "2.0", "id": "mine", "methods": "tools/call", "params": {"x": "quoted"}}
        refused = await post(http, message, **{"mcp-protocol-version": version})
        batch = await post(http, [PING, PING], **{"mcp-protocol-version": version})
    assert (refused.status_code, refused.json()["id"], refused.json()["error"]["code"]) == (400, "mine", code)
    assert "quoted" not in refused.text
    assert (batch.status_code, batch.json()["error"]["code"]) == (400, code)


@pytest.mark.parametrize("version", ["2025-06-18", "2026-07-28"])
async def test_only_a_call_of_a_tool_may_be_long(tmp_path, version):
    tries = {
        "more than 65536 bytes, and no call of a tool": {"params": {"x": "x" * 70_000}},
        "more than 1000 characters in its method": {"method": "x" * 1_001},
        "more than 1000 characters in its name": {"method": "tools/call", "params": {"name": "x" * 1_001}},
    }
    async with serving(ScriptedCortex(), tmp_path) as url, asking(url) as http:
        for reason, more in tries.items():
            refused = await post(http, {**PING, **more}, **{"mcp-protocol-version": version})
            assert (refused.status_code, refused.json()["id"]) == (413, 99)
            assert refused.json()["error"]["message"] == f"The message is too large: {reason}"


async def test_bodies_that_are_too_large_together_are_told_to_retry_later(tmp_path):
    cortex = ScriptedCortex(work=anyio.sleep_forever)
    limits = HttpLimits(bodies_bytes=3_000)
    async with (
        serving(cortex, tmp_path, limits=limits) as url,
        asking(url) as http,
        anyio.create_task_group() as tasks,
    ):
        session = await opened(http)
        long = {**call(1), "params": {"name": "core_energy", "arguments": {"x": "x" * 2_000}}}
        tasks.start_soon(post, http, long, session)
        await cortex.began.wait()
        assert (await post(http, {**long, "id": 2}, session)).status_code == 503
        assert (await post(http, PING, session)).status_code == 200
        tasks.cancel_scope.cancel()
    async with serving(ScriptedCortex(), tmp_path, limits=limits) as url, asking(url) as http:
        session = await opened(http)
        for number in range(3):  # what one has given back, a moment after its answer, is there for the next
            while (await post(http, {**long, "id": number}, session)).status_code != 200:
                await anyio.sleep(0.01)


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


async def test_a_listening_session_is_ended_last_and_a_session_that_waits_for_an_answer_never(tmp_path, caplog):
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
