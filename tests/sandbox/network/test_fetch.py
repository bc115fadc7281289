"""What the code gets from a fetch, and what the server gets."""

from __future__ import annotations

import gzip
import json
import zlib

import anyio
import pytest

from sandbox.network import FetchBroker, NetworkPolicy
from tests.conftest import descriptors
from tests.sandbox.network.conftest import Names, brokered, call, fetch, header, refused
from tests.sandbox.network.servers import chunked

pytestmark = pytest.mark.usefixtures("nothing_left")


async def test_an_answer_has_its_url_status_headers_and_body(server):
    server.routes["/a"] = lambda talk: talk.reply("é".encode(), "201 Made", {"Content-Type": "text/plain", "X-A": "1"})
    async with brokered(server.url) as broker:
        answer = await fetch(broker, f"{server.url}/a?b#c")
    assert answer == {
        "url": f"{server.url}/a?b",
        "status": 201,
        "statusText": "Made",
        "headers": [["content-type", "text/plain"], ["x-a", "1"]],
        "body": "é".encode(),
        "redirected": False,
    }
    assert (broker.requests, broker.received_bytes) == (1, 2)


async def test_a_server_gets_method_headers_and_body(server):
    async with brokered(server.url) as broker:
        await fetch(
            broker, f"{server.url}/p", "post", [["X-A", " 1 "], ["Cookie", "c=1"], ["User-Agent", "me"]], b"\0\xff"
        )
    request = server.heard[0]
    assert (request.method, request.path, request.body) == ("POST", "/p", b"\0\xff")
    assert sorted(request.headers) == [
        ("accept", "*/*"),
        ("accept-encoding", "gzip, deflate"),
        ("content-length", "2"),
        ("cookie", "c=1"),
        ("host", f"127.0.0.1:{server.port}"),
        ("user-agent", "me"),
        ("x-a", "1"),
    ]


async def test_headers_of_the_connection_are_not_the_codes_to_set(server):
    tricks = ["Host", "Connection", "Content-Length", "Transfer-Encoding", "TE", "Trailer", "Upgrade", "Expect"]
    tricks += ["Keep-Alive", "Accept-Encoding", "Proxy-Authorization", "Proxy-Connection", "Via", "Sec-WebSocket-Key"]
    async with brokered(server.url) as broker:
        await fetch(broker, server.url, headers=[[name, "evil"] for name in tricks])
    assert "evil" not in str(server.heard[0].headers)


async def test_a_post_without_a_body_has_a_length_of_nothing(server):
    async with brokered(server.url) as broker:
        await fetch(broker, server.url, "POST")
        await fetch(broker, server.url, "GET")
    assert [request.header("content-length") for request in server.heard] == ["0", None]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"method": "GE T"}, "invalid"),
        ({"method": "GET\r\nX: 1"}, "invalid"),
        ({"method": ""}, "invalid"),
        ({"method": "CONNECT"}, "denied"),
        ({"method": "TRACE"}, "denied"),
        ({"method": "track"}, "denied"),
        ({"headers": [["a", "b\r\nc: d"]]}, "invalid"),
        ({"headers": [["a", "b\0"]]}, "invalid"),
        ({"headers": [["a", "b\nc"]]}, "invalid"),
        ({"headers": [["a", "€"]]}, "invalid"),
        ({"headers": [["a\r\nb", "c"]]}, "invalid"),
        ({"headers": [["", "c"]]}, "invalid"),
        ({"headers": [["a:", "c"]]}, "invalid"),
        ({"headers": [["a"]]}, "invalid"),
        ({"headers": [["a", "b", "c"]]}, "invalid"),
        ({"headers": [["a", 1]]}, "invalid"),
        ({"headers": [["a", "b"]] * 65}, "invalid"),
        ({"headers": [["a", "b" * 17_000]]}, "invalid"),
        ({"method": "POST", "body": "!"}, "invalid"),
        ({"method": "POST", "body": "é"}, "invalid"),
        ({"method": "GET", "body": b"x"}, "invalid"),
        ({"method": "POST", "body": b"x" * (1024 * 1024 + 3)}, "limit"),
    ],
)
async def test_a_request_that_makes_no_sense_is_never_sent(server, wrong, code):
    async with brokered(server.url) as broker:
        assert (await refused(broker, server.url, **wrong)).code == code
        assert broker.requests == 0
    assert server.connections == 0


async def test_headers_that_are_no_lists_are_refused(server):
    async with brokered(server.url) as broker:
        wrong = call(server.url)
        wrong.headers.append("ab")
        with pytest.raises(Exception, match="a pair of a name and a value"):
            await broker.fetch(wrong)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("http://u:p@127.0.0.1/", "invalid"),
        ("no url", "invalid"),
        ("file:///etc/passwd", "denied"),
        ("data:text/plain,x", "denied"),
        ("http://127.0.0.1:1/", "denied"),
        ("https://example.com/", "denied"),
        ("http://" + "a" * 9000, "invalid"),
    ],
)
async def test_a_url_that_is_not_allowed_is_never_asked(server, url, code):
    async with brokered(server.url) as broker:
        assert (await refused(broker, url)).code == code
    assert server.connections == 0


async def test_a_run_without_an_allowlist_reaches_nothing(server):
    async with brokered() as broker:
        error = await refused(broker, server.url)
    assert (error.code, server.connections) == ("denied", 0)


async def test_a_connection_is_kept_for_the_next_request_of_the_run_and_for_no_other_run(server):
    for _ in range(2):
        async with brokered(server.url) as broker:
            for _ in range(3):
                await fetch(broker, server.url)
    assert (len(server.heard), server.connections) == (6, 2)


async def test_no_cookie_is_kept_between_requests(server):
    server.routes["/set"] = lambda talk: talk.reply(headers={"Set-Cookie": "a=1"})
    async with brokered(server.url) as broker:
        assert header(await fetch(broker, f"{server.url}/set"), "set-cookie") == "a=1"
        await fetch(broker, server.url)
    assert server.heard[1].header("cookie") is None


async def test_many_fetches_run_at_once(server):
    server.routes["/n"] = lambda talk: talk.reply(talk.request.path.encode())
    answers = {}

    async def one(number):
        answers[number] = (await fetch(broker, f"{server.url}/n?{number}"))["body"]

    async with brokered(server.url) as broker, anyio.create_task_group() as tasks:
        for number in range(30):
            tasks.start_soon(one, number)
    assert answers == {number: f"/n?{number}".encode() for number in range(30)}
    assert server.connections <= 8


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip", "deflate", "raw deflate", "identity", "gzip, identity"])
async def test_a_compressed_body_arrives_as_it_was(server, encoding):
    text = b"".join(b"%d," % number for number in range(100_000))
    match encoding:
        case "deflate":
            packed = zlib.compress(text)
        case "raw deflate":
            packed = zlib.compress(text, wbits=-15)
        case "identity":
            packed = text
        case _:
            packed = gzip.compress(text)
    name = encoding.removeprefix("raw ")
    server.routes["/"] = lambda talk: talk.reply(packed, headers={"Content-Encoding": name, "X-A": "1"})
    async with brokered(server.url) as broker:
        answer = await fetch(broker, server.url)
    assert answer["body"] == text
    assert answer["headers"] == [["x-a", "1"]]
    assert broker.received_bytes == len(text)


async def test_a_file_of_several_gzip_members_arrives_whole(server):
    packed = b"".join(gzip.compress(part) for part in (b"one ", b"two ", b"three")) + b"\0garbage"
    server.routes["/"] = lambda talk: talk.send(
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
        + chunked(*(packed[at : at + 1] for at in range(len(packed))), b"")
    )
    async with brokered(server.url) as broker:
        assert (await fetch(broker, server.url))["body"] == b"one two three"


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
async def test_an_answer_that_has_no_body_has_none(server, status):
    server.routes["/"] = lambda talk: talk.send(f"HTTP/1.1 {status}\r\nContent-Encoding: gzip\r\n\r\n".encode())
    async with brokered(server.url) as broker:
        for _ in range(2):
            answer = await fetch(broker, server.url)
            assert (answer["status"], answer["body"]) == (int(status[:3]), b"")
    assert server.connections == 1


async def test_head_tells_the_length_of_a_body_that_does_not_come(server):
    server.routes["/"] = lambda talk: talk.send(
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\nContent-Encoding: gzip\r\n\r\n"
    )
    async with brokered(server.url) as broker:
        answer = await fetch(broker, server.url, "HEAD")
    assert (answer["body"], header(answer, "content-length")) == (b"", "999999999")


async def test_early_hints_are_passed_over(server):
    server.routes["/"] = lambda talk: talk.send(
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    )
    async with brokered(server.url) as broker:
        assert (await fetch(broker, server.url))["body"] == b"ok"


async def test_an_answer_without_a_reason_or_a_length_is_read_to_its_end(server):
    def until_closed(talk):
        talk.send(b"HTTP/1.0 200\r\n\r\nall of it")
        talk.hang_up()

    server.routes["/"] = until_closed
    async with brokered(server.url) as broker:
        answer = await fetch(broker, server.url)
    assert (answer["statusText"], answer["body"]) == ("", b"all of it")


async def test_headers_are_given_as_they_came_also_twice_and_in_latin_1(server):
    server.routes["/"] = lambda talk: talk.send(
        b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nX: \xe9\r\nConnection: keep-alive\r\n\r\n"
    )
    async with brokered(server.url) as broker:
        answer = await fetch(broker, server.url)
    assert answer["headers"] == [["set-cookie", "a"], ["set-cookie", "b"], ["x", "é"]]


async def test_an_aborted_fetch_leaves_nothing_and_the_next_one_works(server):
    server.routes["/slow"] = lambda talk: talk.wait_until_gone()
    async with brokered(server.url) as broker:
        await fetch(broker, server.url)
        open_files = descriptors()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(broker.fetch, call(f"{server.url}/slow"))
            while len(server.heard) < 2:
                await anyio.sleep(0.001)
            tasks.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(server.gone.wait, 60)
        assert (await fetch(broker, server.url))["status"] == 200
        with anyio.fail_after(60):  # the server closes its end in a thread of its own
            while descriptors() > open_files:
                await anyio.sleep(0.001)


@pytest.mark.parametrize("where", ["name", "connect", "head", "body"])
async def test_a_fetch_can_be_cancelled_wherever_it_is(server, where):
    reached = anyio.Event()

    async def names(host, port):
        if where == "name":
            reached.set()
            await anyio.sleep_forever()
        return ["127.0.0.1"]

    def half(talk):
        talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        talk.wait_until_gone()

    server.routes["/head"] = lambda talk: talk.wait_until_gone()
    server.routes["/body"] = half
    policy = NetworkPolicy.model_validate(
        {"allow": [{"host": "a.test", "http": True, "private": True, "ports": [server.port]}]}
    )
    broker = FetchBroker(policy, resolver=names, environment={})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(broker.fetch, call(f"{server.at('a.test')}/{where}"))
        if where == "name":
            await reached.wait()
        elif where == "connect":
            await anyio.lowlevel.checkpoint()
        else:
            while not server.heard:
                await anyio.sleep(0.001)
        tasks.cancel_scope.cancel()
    await broker.aclose()


async def test_closing_ends_what_is_under_way(server):
    server.routes["/"] = lambda talk: talk.wait_until_gone()
    errors = []
    async with brokered(server.url) as broker, anyio.create_task_group() as tasks:

        async def one():
            errors.append(await refused(broker, server.url))

        tasks.start_soon(one)
        while not server.heard:
            await anyio.sleep(0.001)
        await broker.aclose()
        assert [(error.code, str(error)) for error in errors] == [("network", "Cannot fetch: the run has ended")]
    assert await anyio.to_thread.run_sync(server.gone.wait, 60)
    assert (await refused(broker, server.url)).code == "network"
    await broker.aclose()


async def test_importing_the_sandbox_does_not_import_an_http_client():
    import subprocess
    import sys

    code = "import sandbox, sandbox.network, sys; print([name for name in sys.modules if name.startswith(('httpx2', 'httpcore2', 'idna'))])"
    done = await anyio.to_thread.run_sync(
        lambda: subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    )
    assert json.loads(done.stdout) == []


async def test_a_name_is_asked_for_once_for_each_connection(server):
    names = Names(a_test=["127.0.0.1"])
    entry = {"host": "a.test", "http": True, "private": True, "ports": [server.port]}
    async with brokered(entry, names=names) as broker:
        for _ in range(3):
            await fetch(broker, server.at("a.test"))
    assert names.asked == ["a.test"]
    assert server.heard[0].header("host") == f"a.test:{server.port}"
