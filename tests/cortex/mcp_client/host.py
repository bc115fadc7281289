"""A host that is killed by force while it uses a server."""

from __future__ import annotations

import anyio

from tests.cortex.mcp_client.support import raw, result, servers


async def main() -> None:
    async with servers(s=raw("pid")) as mcp:
        print((await result(mcp, "s.pid"))["pid"], flush=True)
        await anyio.sleep(60)


if __name__ == "__main__":
    anyio.run(main)
