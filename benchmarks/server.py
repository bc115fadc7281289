"""A small HTTP server for benchmarks, in a process of its own so that it does not share an event loop with them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BODIES = {b"/small": b"x" * 200, b"/large": b"x" * 1_000_000}


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while head := await reader.readuntil(b"\r\n\r\n"):
        body = BODIES[head.split(b" ", 2)[1]]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()


async def serve() -> None:
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # ignore clients that hang up
    await asyncio.to_thread(sys.stdin.read)


@contextmanager
def running() -> Iterator[str]:
    """Run the server and yield its address."""
    command = [sys.executable, "-m", "benchmarks.server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


if __name__ == "__main__":
    asyncio.run(serve())
