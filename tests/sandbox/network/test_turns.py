"""Many fetches on one event loop share one turn to compute, and few of them hold a large body."""

from __future__ import annotations

import gzip
import time

import anyio
import pytest

from sandbox.network import Exchange, Replay, bodies
from sandbox.network.bodies import LARGE_BYTES, MAX_LARGE, FetchPace
from tests.sandbox.network.conftest import brokered, fetch

pytestmark = pytest.mark.usefixtures("nothing_left")


class Watch:
    """Counts how often others on the event loop have their turn."""

    passes = 0

    async def __call__(self) -> None:
        while True:
            self.passes += 1
            await anyio.lowlevel.checkpoint()


async def test_many_fetches_that_compute_share_one_turn():
    watch = Watch()

    async def compute():
        with FetchPace() as work:
            for _ in range(20):
                await work.turn()
                end = time.monotonic() + 0.001
                while time.monotonic() < end:
                    pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        async with anyio.create_task_group() as working:
            for _ in range(10):
                working.start_soon(compute)
        tasks.cancel_scope.cancel()
    # A fifth of a second of work; with a turn for each of the ten there would be two or three.
    assert watch.passes >= 15


async def test_a_long_answer_is_encoded_in_pieces(monkeypatch):
    monkeypatch.setattr(bodies, "TURN_S", 0.0)
    body = bytes(range(256)) * 16 * 1024 + b"x"
    replay = Replay([Exchange(method="GET", url="https://a.test/", status=200, body=body)])
    watch = Watch()
    settings = {"replay": replay, "max_response_bytes": len(body)}
    async with brokered("a.test", **settings) as broker, anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        answer = await fetch(broker, "https://a.test/")
        tasks.cancel_scope.cancel()
    assert answer["body"] == body
    assert watch.passes >= 40


async def test_few_large_bodies_are_held_at_once_and_small_ones_need_not_wait(server, monkeypatch):
    monkeypatch.setattr(bodies, "MAX_WAIT_S", 60)  # after which a large one no longer waits for its place
    large = b"x" * (2 * LARGE_BYTES)
    server.routes["/large"] = lambda talk: talk.reply(large)
    server.routes["/packed"] = lambda talk: talk.reply(gzip.compress(large), headers={"Content-Encoding": "gzip"})
    done = []

    async def one(path):
        done.append((path, len((await fetch(broker, server.url + path))["body"])))

    holders = [FetchPace() for _ in range(MAX_LARGE)]
    for holder in holders:
        await holder.grow(LARGE_BYTES + 1)
    async with brokered(server.url) as broker:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one, "/large")
            tasks.start_soon(one, "/packed")
            while len(server.heard) < 2:
                await anyio.sleep(0.001)
            await one("/small")
            await one("/small")
            assert done == [("/small", 2)] * 2
            assert broker.received_bytes < 2 * LARGE_BYTES  # nothing of the one whose length is known
            for holder in holders:
                holder.__exit__()
        assert sorted(done[2:]) == [("/large", len(large)), ("/packed", len(large))]


async def test_who_keeps_a_place_for_long_does_not_keep_others_from_theirs(server, monkeypatch):
    monkeypatch.setattr(bodies, "MAX_WAIT_S", 0.05)
    server.routes["/"] = lambda talk: talk.reply(b"x" * (2 * LARGE_BYTES))
    holders = [FetchPace() for _ in range(MAX_LARGE)]
    for holder in holders:
        await holder.grow(LARGE_BYTES + 1)
    async with brokered(server.url) as broker:
        assert (await fetch(broker, server.url))["status"] == 200
    for holder in holders:
        holder.__exit__()


async def test_a_place_is_given_back_also_after_an_error_and_a_cancellation(server):
    def half(talk):
        talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 500_000)
        talk.wait_until_gone()

    server.routes["/half"] = half
    server.routes["/"] = lambda talk: talk.reply(b"x" * (2 * LARGE_BYTES))
    async with brokered(server.url) as broker:
        for _ in range(MAX_LARGE + 1):
            server.gone.clear()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(fetch, broker, f"{server.url}/half")
                while broker.received_bytes % 1_000_000 == 0:
                    await anyio.sleep(0.001)
                tasks.cancel_scope.cancel()
        places = [FetchPace() for _ in range(MAX_LARGE)]
        with anyio.fail_after(60):
            for place in places:
                await place.grow(LARGE_BYTES + 1)
        for place in places:
            place.__exit__()
