"""Waits until a pipe is readable or writable, at most until a deadline."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


async def readable_before(descriptor: int, deadline: float) -> bool:
    """Return True when the descriptor is readable, False at the deadline (on anyio's clock)."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        with anyio.CancelScope(deadline=deadline) as scope:
            await anyio.wait_readable(descriptor)
        return not scope.cancelled_caught
    return await _on_asyncio(loop, descriptor, deadline)


async def write_all(descriptor: int, data: bytes, deadline: float) -> None:
    """Write everything, waiting while the pipe is full. Raises TimeoutError at the deadline, OSError if closed."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:
            with anyio.fail_after(deadline - anyio.current_time()):
                await anyio.wait_writable(descriptor)


async def _on_asyncio(loop: AbstractEventLoop, descriptor: int, deadline: float) -> bool:
    # Does what anyio does, without its extra turn of the event loop and its cancel scope: that saves 0.1 of the 1 ms
    # that a warm execution takes. Cancellation works as usual: it is the task that is cancelled.
    news: asyncio.Future[bool] = loop.create_future()

    def tell(is_readable: bool) -> None:
        if not news.done():
            news.set_result(is_readable)

    loop.add_reader(descriptor, tell, True)
    timer = loop.call_at(deadline, tell, False)
    try:
        return await news
    finally:
        timer.cancel()
        loop.remove_reader(descriptor)
