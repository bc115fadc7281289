"""Recording network exchanges, and replaying them in place of the network."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from sandbox.contracts.errors import ToolError
from sandbox.network import Exchange, NetworkPolicy, Recorder, Replay
from sandbox.network.recording import digest
from tests.sandbox.network.conftest import brokered, fetch, refused
from tests.sandbox.network.servers import Server

pytestmark = pytest.mark.usefixtures("nothing_left")


async def test_what_was_recorded_is_replayed_without_a_network(tmp_path):
    recorder = Recorder()
    with Server() as server:
        server.routes["/old"] = lambda talk: talk.redirect("/new?x")
        server.routes["/new"] = lambda talk: talk.reply(b"\0\xff", "201 Made", {"X-A": "é"})
        server.routes["/echo"] = lambda talk: talk.reply(talk.request.body)
        async with brokered(server.url, recorder=recorder) as broker:
            first = await fetch(broker, f"{server.url}/old")
            await fetch(broker, f"{server.url}/echo", "POST", body=b"1")
            await fetch(broker, f"{server.url}/echo", "POST", body=b"2")
    assert [exchange.url for exchange in recorder.exchanges] == [
        f"{server.url}{path}" for path in ("/old", "/new?x", "/echo", "/echo")
    ]
    recorder.save(tmp_path / "run.json")
    again = Recorder()
    replay = Replay.load(tmp_path / "run.json")
    for _ in range(2):
        async with brokered(server.url, replay=replay, recorder=again) as broker:
            assert await fetch(broker, f"{server.url}/old") == first
            assert (await fetch(broker, f"{server.url}/echo", "POST", body=b"2"))["body"] == b"2"
            assert (broker.requests, broker.received_bytes) == (3, 3)
    assert len(again.exchanges) == 6


def exchange(body: bytes = b"", **more: object) -> Exchange:
    return Exchange.model_validate({"method": "GET", "url": "https://a.test/", "status": 200, "body": body, **more})


async def test_answers_come_in_order_and_the_last_one_stays_and_each_run_begins_anew():
    replay = Replay([exchange(b"1"), exchange(b"2")])
    for _ in range(2):
        async with brokered("a.test", replay=replay) as broker:
            bodies = [(await fetch(broker, "https://A.test"))["body"] for _ in range(3)]
        assert bodies == [b"1", b"2", b"2"]


async def test_a_request_without_a_recording_is_an_error_that_says_so():
    async with brokered("a.test", replay=Replay([exchange()])) as broker:
        for url, method, body in (
            ("https://a.test/other", "GET", None),
            ("https://a.test/", "POST", None),
            ("https://a.test/", "POST", b"x"),
        ):
            error = await refused(broker, url, method, body=body)
            assert error.code == "network"
            assert "Nothing was recorded for" in str(error)


async def test_a_replay_keeps_the_policy():
    elsewhere = exchange(status=302, headers=[["location", "https://evil.test/"]])
    replay = Replay([elsewhere, exchange(b"xxx", url="https://a.test/x"), exchange(url="https://evil.test/")])
    async with brokered("a.test", replay=replay) as broker:
        assert (await refused(broker, "https://evil.test/")).code == "denied"
        assert (await refused(broker, "https://a.test/")).code == "denied"
    async with brokered("a.test", replay=replay, max_requests=1) as broker:
        await fetch(broker, "https://a.test/x")
        assert (await refused(broker, "https://a.test/x")).code == "limit"
    async with brokered("a.test", replay=replay, max_response_bytes=2) as broker:
        assert (await refused(broker, "https://a.test/x")).code == "limit"
    async with brokered("a.test", replay=replay, max_total_bytes=5) as broker:
        await fetch(broker, "https://a.test/x")
        assert (await refused(broker, "https://a.test/x")).code == "limit"


async def test_a_replay_needs_no_secret():
    rule = {"host": "a.test", "headers": {"authorization": "Bearer ${env:MISSING}"}}
    recorder = Recorder()
    async with brokered(rule, replay=Replay([exchange(b"1")]), recorder=recorder) as broker:
        assert (await fetch(broker, "https://a.test/"))["body"] == b"1"
    assert recorder.exchanges[0].request_headers == (("authorization", "[redacted]"),)


async def test_a_recording_that_was_cut_is_not_replayed_as_if_it_were_whole(server):
    server.routes["/"] = lambda talk: talk.reply(b"x" * 100)
    recorder = Recorder(max_body_bytes=10)
    async with brokered(server.url, recorder=recorder) as broker:
        assert len((await fetch(broker, server.url))["body"]) == 100
    (cut,) = recorder.exchanges
    assert (cut.body, cut.truncated) == (b"x" * 10, True)
    async with brokered(server.url, replay=Replay.from_json(recorder.to_json())) as broker:
        error = await refused(broker, server.url)
    assert error.code == "network"
    assert "was cut" in str(error)


async def test_in_a_rehearsal_the_host_says_what_a_request_without_an_answer_meets():
    asked = []

    def unanswered(method: str, url: str) -> ToolError:
        asked.append((method, url))
        return ToolError("Cannot connect", code="network", retryable=True)

    replay = Replay(
        [exchange(b"1"), exchange(b"half", url="https://a.test/cut", truncated=True)], unanswered=unanswered
    )
    async with brokered("a.test", replay=replay) as broker:
        assert (await fetch(broker, "https://a.test/"))["body"] == b"1"
        for path in ("cut", "missing"):
            error = await refused(broker, f"https://a.test/{path}")
            assert (str(error), error.code, error.retryable) == ("Cannot connect", "network", True)
    assert asked == [("GET", "https://a.test/cut"), ("GET", "https://a.test/missing")]


def test_a_recorder_keeps_no_more_than_fits():
    recorder = Recorder(max_exchanges=3, max_total_bytes=5)
    for _ in range(5):
        recorder.add(exchange(b"xxx"))
    assert [(len(kept.body), kept.truncated) for kept in recorder.exchanges] == [(3, False), (2, True), (0, True)]
    assert recorder.dropped == 2


def test_a_recording_is_read_strictly():
    with pytest.raises(ValidationError):
        Replay.from_json(b'[{"method": "GET"}]')
    with pytest.raises(ValidationError):
        Replay.from_json(b"[1]")


def test_the_body_of_a_form_is_known_whatever_its_boundary():
    def form(boundary: str, content_type: str = 'multipart/form-data; charset=x; boundary="{}"') -> str | None:
        body = f'--{boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--{boundary}--\r\n'
        return digest(body.encode(), content_type.format(boundary))

    assert form("----one") == form("----two")
    assert form("----one") == form("----two", "Multipart/Form-Data; boundary={}")
    assert form("----one", "text/plain; boundary={}") != form("----two", "text/plain; boundary={}")
    assert digest(None, "multipart/form-data; boundary=x") is None


async def test_a_form_is_replayed(server):
    async def send(broker, boundary):
        body = f'--{boundary}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--{boundary}--\r\n'.encode()
        kind = [["content-type", f"multipart/form-data; boundary={boundary}"]]
        return (await fetch(broker, server.url, "POST", kind, body))["body"]

    recorder = Recorder()
    async with brokered(server.url, recorder=recorder) as broker:
        assert await send(broker, "----1234") == b"ok"
    async with brokered(server.url, replay=Replay(recorder.exchanges)) as broker:
        assert await send(broker, "----5678") == b"ok"


async def test_an_answer_as_long_as_the_policy_allows_is_recorded_whole(server):
    server.routes["/"] = lambda talk: talk.reply(b"x" * NetworkPolicy().max_response_bytes)
    recorder = Recorder()
    async with brokered(server.url, recorder=recorder) as broker:
        first = await fetch(broker, server.url)
    async with brokered(server.url, replay=Replay.from_json(recorder.to_json())) as broker:
        assert await fetch(broker, server.url) == first
