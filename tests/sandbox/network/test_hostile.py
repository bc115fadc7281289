"""Hostile servers: slow, endless, exploding, lying. Each costs the host a bounded amount and gives a distinct error."""

from __future__ import annotations

import gzip
import socket
import time
import zlib

import anyio
import pytest

from sandbox.contracts.errors import ToolError
from sandbox.network.bodies import PIECE_BYTES, Body
from tests.sandbox.network.conftest import Names, brokered, fetch, refused
from tests.sandbox.network.servers import chunked

pytestmark = pytest.mark.usefixtures("nothing_left")

MIB = 1024 * 1024
HEAD = b"HTTP/1.1 200 OK\r\n"
GZIPPED = HEAD + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(scope="module")
def bomb() -> bytes:
    """A decompression bomb: a third of a gigabyte of zeros. Its last bytes are wrong, and must never be reached."""
    packer = zlib.compressobj(9, wbits=31)
    first = packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)
    return first + (packer.compress(bytes(MIB)) + packer.flush(zlib.Z_FULL_FLUSH)) * 300


async def test_a_bomb_stops_at_the_limit(server, bomb):
    server.routes["/"] = lambda talk: talk.reply(bomb, headers={"Content-Encoding": "gzip"})
    async with brokered(server.url, max_response_bytes=MIB) as broker:
        error = await refused(broker, server.url)
        assert (error.code, error.retryable) == ("limit", False)
        assert str(error).startswith("The answer has more than 1048576 bytes")
        assert broker.received_bytes <= MIB
        server.routes["/"] = lambda talk: talk.reply(b"fine")
        assert (await fetch(broker, server.url))["body"] == b"fine"


def test_a_bomb_is_unpacked_piece_by_piece_and_no_further_than_the_limit(bomb):
    body = Body(["gzip"], MIB)
    made = []
    with pytest.raises(ToolError, match="more than 1048576 bytes"):
        made.extend(body.take(bomb))
    assert max(made) <= PIECE_BYTES
    assert MIB - PIECE_BYTES <= sum(made) <= MIB


async def test_a_bomb_of_many_members_stops_at_the_limit(server):
    member = gzip.compress(bytes(MIB))
    server.routes["/"] = lambda talk: talk.reply(member * 90, headers={"Content-Encoding": "gzip"})
    async with brokered(server.url) as broker:
        assert (await refused(broker, server.url)).code == "limit"
        assert broker.received_bytes <= 4 * MIB


async def test_members_of_nothing_come_to_an_end(server):
    server.routes["/"] = lambda talk: talk.reply(gzip.compress(b"") * 20_000, headers={"Content-Encoding": "gzip"})
    async with brokered(server.url) as broker:
        error = await refused(broker, server.url)
    assert (error.code, str(error)) == ("network", "The answer's compressed body has more than 100 parts")


def test_what_unpacks_to_nothing_is_counted_as_it_came():
    packer = zlib.compressobj(wbits=31)
    body = Body(["gzip"], MIB)
    list(body.take(packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)))
    nothing = b"\0\0\0\xff\xff" * 20_000
    for _ in range(10):
        assert sum(body.take(nothing)) == 0
    with pytest.raises(ToolError, match="more than 1048576 bytes"):
        list(body.take(nothing))


async def test_what_unpacks_to_nothing_comes_to_an_end(server):
    packer = zlib.compressobj(wbits=31)
    empty = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    nothing = b"\0\0\0\xff\xff" * 20_000

    def endless(talk):
        talk.send(GZIPPED + chunked(empty))
        talk.flood(chunked(nothing))

    server.routes["/"] = endless
    async with brokered(server.url, max_response_bytes=MIB) as broker:
        assert (await refused(broker, server.url)).code == "limit"
        assert broker.received_bytes == 0
    assert server.sent_bytes < 16 * MIB


@pytest.mark.parametrize(
    ("encoding", "body", "message"),
    [
        ("br", b"x", "not asked for"),
        ("zstd", b"x", "not asked for"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), "encoded more than once"),
        ("gzip", b"not gzip at all", "damaged"),
        ("deflate", b"\xff\xff\xff", "damaged"),
        ("gzip", gzip.compress(b"x" * 1000, mtime=0)[:-9], "ended too early"),
    ],
)
async def test_an_encoding_that_cannot_be_undone_is_an_error_of_the_network(server, encoding, body, message):
    server.routes["/"] = lambda talk: talk.reply(body, headers={"Content-Encoding": encoding})
    async with brokered(server.url) as broker:
        error = await refused(broker, server.url)
    assert error.code == "network"
    assert message in str(error)


async def test_two_encoding_headers_are_two_encodings(server):
    server.routes["/"] = lambda talk: talk.send(
        HEAD + b"Content-Encoding: gzip\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n"
    )
    async with brokered(server.url) as broker:
        assert "more than once" in str(await refused(broker, server.url))


@pytest.mark.parametrize("head", [HEAD + b"\r\n", HEAD + b"Content-Length: 99999999999\r\n\r\n"])
async def test_an_endless_body_stops_at_the_limit(server, head):
    def endless(talk):
        talk.send(head)
        talk.flood(b"x" * 65536)

    server.routes["/"] = endless
    async with brokered(server.url, max_response_bytes=MIB) as broker:
        assert (await refused(broker, server.url)).code == "limit"
        assert broker.received_bytes <= MIB
    assert server.sent_bytes < 32 * MIB


async def test_a_body_of_the_limit_is_whole_and_one_byte_more_is_refused(server):
    server.routes["/fits"] = lambda talk: talk.reply(b"x" * MIB)
    server.routes["/more"] = lambda talk: talk.reply(b"x" * (MIB + 1))
    async with brokered(server.url, max_response_bytes=MIB) as broker:
        assert len((await fetch(broker, f"{server.url}/fits"))["body"]) == MIB
        assert (await refused(broker, f"{server.url}/more")).code == "limit"


async def test_a_run_receives_no_more_than_its_total(server):
    server.routes["/"] = lambda talk: talk.reply(b"x" * MIB)
    async with brokered(server.url, max_total_bytes=2 * MIB + 1) as broker:
        await fetch(broker, server.url)
        await fetch(broker, server.url)
        error = await refused(broker, server.url)
        assert (error.code, str(error)) == ("limit", f"A run may receive at most {2 * MIB + 1} bytes in all")
        assert broker.received_bytes < 3 * MIB


async def test_a_run_sends_no_more_than_its_requests(server):
    async with brokered(server.url, max_requests=2) as broker:
        await fetch(broker, server.url)
        await fetch(broker, server.url)
        error = await refused(broker, server.url)
    assert (error.code, str(error)) == ("limit", "A run may send at most 2 requests")
    assert len(server.heard) == 2


async def test_many_at_once_share_the_limits(server):
    server.routes["/"] = lambda talk: talk.reply(b"x" * MIB)
    codes = []

    async def one():
        try:
            await fetch(broker, server.url)
            codes.append("ok")
        except ToolError as error:
            codes.append(error.code)

    async with brokered(server.url, max_requests=6, max_total_bytes=3 * MIB) as broker:
        async with anyio.create_task_group() as tasks:
            for _ in range(10):
                tasks.start_soon(one)
        assert broker.received_bytes <= 3 * MIB + 8 * PIECE_BYTES
    assert (codes.count("ok"), codes.count("limit")) == (3, 7)
    assert len(server.heard) <= 6


async def test_what_did_not_come_is_not_counted(server):
    def half(talk):
        talk.send(HEAD + b"Content-Length: 1000\r\n\r\nhalf")
        talk.hang_up()

    server.routes["/half"] = half
    server.routes["/"] = lambda talk: talk.reply(b"x" * 900)
    async with brokered(server.url, max_total_bytes=1000) as broker:
        assert (await refused(broker, f"{server.url}/half")).code == "network"
        assert broker.received_bytes == 4
        assert len((await fetch(broker, server.url))["body"]) == 900
        assert (await refused(broker, server.url)).code == "limit"
        assert broker.received_bytes == 904


async def test_a_body_that_says_it_is_too_large_is_not_read(server):
    server.routes["/"] = lambda talk: talk.send(HEAD + b"Content-Length: 1000001\r\n\r\n" + b"x" * 1000)
    async with brokered(server.url, max_response_bytes=1_000_000) as broker:
        assert str(await refused(broker, server.url)).startswith("The answer has more than 1000000 bytes")
        assert broker.received_bytes == 0


def drip(talk, data: bytes) -> None:
    while talk.send(data):
        time.sleep(0.01)


@pytest.mark.parametrize(
    "begin", [b"", HEAD, HEAD + b"\r\n", HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"]
)
async def test_a_server_that_drips_runs_into_one_clock(server, begin):
    piece = b"1\r\nx\r\n" if b"chunked" in begin else b"X: y\r\n" if begin == HEAD else begin or b""

    def slow(talk):
        talk.send(begin)
        drip(talk, piece) if piece and begin != HEAD + b"\r\n" else talk.wait_until_gone()

    server.routes["/"] = slow
    async with brokered(server.url, request_timeout_ms=150) as broker:
        error = await refused(broker, server.url)
    assert (error.code, error.retryable) == ("timeout", True)
    assert str(error) == "The fetch took longer than 150 ms"


async def test_redirects_share_the_clock_of_their_fetch(server):
    def slow(talk):
        time.sleep(0.03)
        talk.redirect("/")

    server.routes["/"] = slow
    async with brokered(server.url, request_timeout_ms=200, max_redirects=1000, max_requests=1000) as broker:
        assert (await refused(broker, server.url)).code == "timeout"


async def test_a_name_that_is_never_answered_runs_into_the_clock(server):
    async def never(host, port):
        await anyio.sleep_forever()

    entry = {"host": "a.test", "http": True, "ports": [server.port]}
    async with brokered(entry, names=never, request_timeout_ms=50) as broker:
        assert (await refused(broker, server.at("a.test"))).code == "timeout"


async def test_a_server_that_does_not_read_runs_into_the_clock():
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(1)
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        async with brokered(url, request_timeout_ms=150, max_request_bytes=64 * MIB) as broker:
            assert (await refused(broker, url, "POST", body=bytes(16 * MIB))).code == "timeout"


@pytest.mark.parametrize(
    "head",
    [
        HEAD + b"".join(b"X-%d: y\r\n" % number for number in range(10_000)) + b"\r\n",
        HEAD + b"X: " + b"y" * 200_000 + b"\r\n\r\n",
        HEAD[:-2] + b"y" * 200_000 + b"\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
    ],
    ids=["many", "long", "reason", "early"],
)
async def test_a_bomb_of_headers_stops_at_the_limit(server, head):
    server.routes["/"] = lambda talk: talk.send(head)
    async with brokered(server.url) as broker:
        error = await refused(broker, server.url)
    assert error.code == "limit"
    assert "the head of the answer is larger than 32768 bytes" in str(error)


async def test_an_answer_of_too_many_headers_is_refused(server):
    server.routes["/"] = lambda talk: talk.send(HEAD + b"X:\r\n" * 513 + b"\r\n")
    async with brokered(server.url) as broker:
        assert str(await refused(broker, server.url)) == "The answer has more than 512 headers"


async def test_the_head_of_a_later_answer_on_the_same_connection_is_bounded_too(server):
    server.routes["/bomb"] = lambda talk: talk.send(HEAD + b"X: " + b"y" * 200_000 + b"\r\n\r\n")
    async with brokered(server.url) as broker:
        await fetch(broker, server.url)
        error = await refused(broker, f"{server.url}/bomb")
    assert (error.code, server.connections) == ("limit", 1)


async def test_a_body_of_nothing_but_chunk_heads_stops(server):
    def endless(talk):
        talk.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        talk.flood((b"1;" + b"e" * 60_000 + b"\r\nx\r\n") * 10)

    server.routes["/"] = endless
    async with brokered(server.url, max_response_bytes=65536) as broker:
        error = await refused(broker, server.url)
        assert (error.code, broker.received_bytes < 100) == ("limit", True)
    assert server.sent_bytes < 16 * MIB


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"garbage\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 999999 OK\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 5\r\n\r\nab",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nab",
        HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        HEAD + b"X Y: z\r\n\r\n",
        HEAD + b"X: a\0b\r\n\r\n",
        HEAD + b" folded: y\r\n\r\n",
        b"HTTP/1.1 101 Switching\r\nUpgrade: evil\r\n\r\n",
    ],
)
async def test_a_server_that_does_not_speak_http_is_an_error_of_the_network(server, answer):
    def speak(talk):
        talk.send(answer)
        talk.hang_up()

    server.routes["/"] = speak
    async with brokered(server.url) as broker:
        assert (await refused(broker, server.url)).code == "network"


@pytest.mark.parametrize("begin", [b"", HEAD, HEAD + b"Content-Length: 10\r\n\r\nhalf"])
async def test_a_connection_that_is_reset_is_an_error_of_the_network(server, begin):
    def reset(talk):
        talk.send(begin)
        talk.reset()

    server.routes["/"] = reset
    async with brokered(server.url) as broker:
        assert (await refused(broker, server.url)).code == "network"


async def test_a_body_of_too_many_pieces_is_not_read_to_its_end(server):
    server.routes["/"] = lambda talk: talk.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 40_000)
    async with brokered(server.url) as broker:
        error = await refused(broker, server.url)
    assert (error.code, str(error)) == ("limit", "The answer comes in more than 32768 pieces")


async def test_others_have_their_turn_while_a_body_of_many_pieces_is_read(server):
    pieces = b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n"
    server.routes["/"] = lambda talk: talk.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + pieces)
    turns = 0

    async def watch():
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with brokered(server.url) as broker, anyio.create_task_group() as tasks:
        await fetch(broker, f"{server.url}/warm")
        tasks.start_soon(watch)
        before = turns
        assert len((await fetch(broker, server.url))["body"]) == 20_000
        # One for each hundredth of a second of work, and without them one for each read of the socket.
        assert turns - before > 10
        tasks.cancel_scope.cancel()


async def test_a_flood_that_drips_through_dns_is_bounded(server):
    entry = {"host": "a.test", "http": True, "private": True, "ports": [server.port]}
    names = Names(a_test=[f"127.0.1.{number}" for number in range(33)])
    async with brokered(entry, names=names) as broker:
        assert "33 addresses" in str(await refused(broker, server.at("a.test")))
