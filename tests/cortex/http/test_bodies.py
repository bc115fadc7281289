"""Bodies are left so that nothing is left for the garbage collector, which on trio would be an error."""

from __future__ import annotations

import anyio

from cortex.http.bodies import Beginning, leave


class Body:
    """Three generators deep, as the real ones are. `ended` tells which of them saw their end."""

    def __init__(self, *chunks: bytes, then_hangs: bool) -> None:
        self.chunks = chunks
        self.then_hangs = then_hangs
        self.ended: list[int] = []

    async def read(self, depth: int = 2):
        try:
            if depth:
                async for chunk in self.read(depth - 1):
                    yield chunk
            else:
                for chunk in self.chunks:
                    yield chunk
                if self.then_hangs:
                    await anyio.sleep_forever()
        finally:
            self.ended.append(depth)


async def test_a_body_that_is_left_ends_in_all_its_parts():
    body = Body(b"a", b"b", then_hangs=True)
    chunks = body.read()
    assert await anext(chunks) == b"a"
    await leave(chunks)
    assert body.ended == [0, 1, 2]
    await leave(chunks)


async def test_a_body_that_is_about_to_end_may_and_one_that_is_not_is_ended():
    for hangs in (False, True):
        body = Body(b"a", b"b", then_hangs=hangs)
        chunks = body.read()
        await anext(chunks)
        with anyio.fail_after(30):
            await leave(chunks, is_ending=True)
        assert body.ended == [0, 1, 2]


async def test_leaving_does_not_wait_for_a_cancelled_task():
    body = Body(b"a", then_hangs=True)
    chunks = body.read()
    await anext(chunks)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await leave(chunks)
    assert body.ended == [0, 1, 2]


async def test_of_a_long_body_the_beginning_is_taken_and_the_rest_is_left():
    body = Body(b"abc", b"def", b"ghi", then_hangs=True)
    assert [chunk async for chunk in Beginning(body.read(), 5)] == [b"abc", b"de"]
    assert body.ended == [0, 1, 2]
