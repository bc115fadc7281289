"""A client that asks and asks: what it may have open, by number and by size, and what gives a place back."""

from __future__ import annotations

import anyio
import pytest

from cortex.mcp_server.calls import MAX_CALLS, MAX_OPEN, OpenRequests

from .scripted import BOUND_S, ScriptedCortex
from .test_stdio import ENVELOPE, HELLO, READY, call, serving, wires

__all__ = ["wires"]


def cancel(number: int) -> dict[str, object]:
    params = {"requestId": number, "_meta": ENVELOPE}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}


def ping(name: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": name, "method": "ping"}


async def most_tasks(at_least: int) -> int:
    """The most tasks that ran until there were so many, and then no more for a while."""
    seen = [0]
    with anyio.move_on_after(BOUND_S):
        while max(seen) < at_least or len(seen) < 20 or len({*seen[-20:]}) > 1:
            await anyio.sleep(0.01)
            seen.append(len(anyio.get_running_tasks()))
    return max(seen)


async def test_a_client_that_reads_nothing_is_not_read_either(wires, tmp_path):
    ends, wire = wires
    names = [f"{number:0900}" for number in range(1_500)]
    async with serving(ScriptedCortex(), ends, tmp_path):
        wire.send(HELLO, READY)
        await wire.next()
        before = len(anyio.get_running_tasks())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wire.send_beside, *map(ping, names))
            assert before + MAX_OPEN <= await most_tasks(before + MAX_OPEN) <= before + MAX_OPEN + 3
            # It only had to read: each is answered.
            assert sorted([(await wire.next())["id"] for _ in names]) == names


@pytest.mark.parametrize("meta", [{}, ENVELOPE], ids=["handshake", "modern"])
async def test_a_call_that_is_cancelled_gives_its_place_back(wires, tmp_path, meta):
    ends, wire = wires
    cortex = ScriptedCortex(work=anyio.sleep_forever)
    async with serving(cortex, ends, tmp_path):
        if not meta:
            wire.send(HELLO, READY)
            await wire.next()
        for first in range(0, 3 * MAX_CALLS, MAX_CALLS):
            numbers = range(first, first + MAX_CALLS)
            wire.send(*(call(number, **meta) for number in numbers))
            while cortex.waiting < MAX_CALLS:
                await anyio.sleep(0.01)
            wire.send(*map(cancel, numbers))
            while cortex.waiting:
                await anyio.sleep(0.01)
        assert len(cortex.asked) == 3 * MAX_CALLS > MAX_OPEN
        wire.send(call(999, "no_such_tool", **meta))
        assert (await wire.next())["id"] == 999


async def test_requests_of_one_id_give_their_places_back(wires, tmp_path):
    ends, wire = wires
    async with serving(ScriptedCortex(), ends, tmp_path):
        wire.send(HELLO, READY, *[call(1)] * (2 * MAX_OPEN))
        assert [(await wire.next())["id"] for _ in range(2 * MAX_OPEN + 1)] == [0] + [1] * 2 * MAX_OPEN


async def test_calls_that_are_too_large_together_are_told_to_retry_later(wires, tmp_path):
    ends, wire = wires
    cortex = ScriptedCortex(work=anyio.sleep_forever)

    def large(number: int) -> dict[str, object]:
        params = {"name": "core_energy", "arguments": {"x": "x" * 4_500_000}}
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}

    async with serving(cortex, ends, tmp_path):
        wire.send(HELLO, READY)
        await wire.next()
        # A refusal has the id of a call that goes on, and gives back nothing of it.
        for number in (1, 2, 3, 3, 3):
            await wire.send_beside(large(number))
        refused = [await wire.next(), await wire.next()]
        assert [answer["id"] for answer in refused] == [3, 3]
        assert "hold too much; try again" in refused[0]["error"]["message"]
        assert cortex.waiting == 3
        wire.send(cancel(2))
        while cortex.waiting == 3:
            await anyio.sleep(0.01)
        await wire.send_beside(large(4))
        while cortex.waiting < 3:
            await anyio.sleep(0.01)


async def test_of_two_requests_with_one_id_the_larger_counts_until_both_are_answered():
    opened = OpenRequests(most=2, max_bytes=10)
    assert opened.begin(7, 8)
    assert opened.begin(7, 1)
    opened.end(7)
    assert not opened.begin("7", 3)
    opened.end("7")  # which is another
    opened.end(None)
    opened.end(7)
    opened.end(7)
    assert opened.begin(1, 5)
    assert opened.begin(2, 5)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(opened.place)
        await anyio.wait_all_tasks_blocked()
        opened.end(3)
        opened.end(2)
