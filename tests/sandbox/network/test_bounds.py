"""Limits on a request and on concurrent requests: each setting has an effect."""

from __future__ import annotations

import threading
import time

import anyio
import pytest

from .conftest import brokered, fetch, refused


@pytest.mark.parametrize(
    ("setting", "request_"),
    [
        ({"max_url_bytes": 100}, {"path": "/" + "x" * 100}),
        ({"max_headers": 2}, {"headers": [("a", "1"), ("b", "2"), ("c", "3")]}),
        ({"max_header_bytes": 50}, {"headers": [("a", "x" * 60)]}),
        ({"max_request_bytes": 10}, {"method": "POST", "body": b"x" * 11}),
    ],
)
async def test_a_request_beyond_a_bound_is_told_and_never_sent(server, setting, request_):
    request_ = dict(request_)
    path = request_.pop("path", "/")
    async with brokered(server.url, **setting) as broker:
        error = await refused(broker, server.url + path, **request_)
        assert str(next(iter(setting.values()))) in str(error)
        assert server.heard == []
    async with brokered(server.url) as broker:
        await fetch(broker, server.url + path, **request_)  # it is this bound, and nothing else


async def test_no_more_connections_than_the_setting_are_open_at_once(server):
    most, now, lock = 0, 0, threading.Lock()
    full = threading.Event()

    def slow(talk):
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
            if now == limit:
                full.set()
        # Until there are as many as may be; then a moment longer, in which one more could come.
        full.wait(60)
        time.sleep(0.05)
        with lock:
            now -= 1
        talk.reply(b"ok")

    server.routes["/"] = slow
    for limit in (1, 3):
        most = 0
        full.clear()
        async with brokered(server.url, max_connections=limit) as broker, anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(fetch, broker, server.url)
        assert most == limit
