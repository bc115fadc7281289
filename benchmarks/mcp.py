"""Benchmark of the MCP client: a tool called by code in the sandbox, against the SDK's own client without a sandbox.

A tool that does nothing shows the cost of the bridge; the rest is the cost of our client.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import anyio

from cortex import MotorCortex, Settings, Toolbox
from cortex.settings.sections import CacheSettings, EnergySettings

from .measure import Report, Row, folder_on_disk, interleaved, p50

CALLS = 50
ROOT = Path(__file__).parent.parent
SERVER = {"command": sys.executable, "args": ["-m", "examples.servers.ticket_desk"], "cwd": str(ROOT)}
CODE = """
let found = 0;
for (let n = 0; n < %d; n++) found += (await tools.%s({ id: "T-017" })).id === "T-017" ? 1 : 0;
return found;
"""


async def mcp(rounds: int, report: Report) -> None:
    from mcp import Client, StdioServerParameters

    toolbox = Toolbox()

    @toolbox.tool(name="nothing.get")
    async def get(id: str) -> dict[str, str]:  # noqa: A002 - as the server's tool has it
        return {"id": id}

    with folder_on_disk() as home:
        settings = Settings(
            home=home,
            energy=EnergySettings(recharge_per_minute=1_000_000),
            cache=CacheSettings(enabled=False),
            mcpServers={"desk": SERVER},
            mcp={"max_calls_per_minute": 1_000_000},
        )
        async with Client(StdioServerParameters(**SERVER)) as client, MotorCortex(settings, toolbox=toolbox) as cortex:

            async def in_the_sandbox(tool: str) -> None:
                async with cortex.turn() as turn:
                    text = await turn.call("core.execute", {"purpose": "look", "code": CODE % (CALLS, tool)})
                assert text == str(CALLS), text

            async def direct() -> None:
                for _ in range(CALLS):
                    result = await client.call_tool("get_ticket", {"id": "T-017"})
                    assert not result.is_error

            await in_the_sandbox("desk.getTicket")
            trials = {
                "sandbox": lambda: in_the_sandbox("desk.getTicket"),
                "bridge": lambda: in_the_sandbox("nothing.get"),
                "direct": direct,
            }
            taken = await interleaved(trials, rounds, lambda: anyio.sleep(0.1))
    sandbox, bridge, alone = (p50(taken[name]) / CALLS for name in ("sandbox", "bridge", "direct"))
    report(Row("a call of an MCP server's tool from code, the bridge apart", sandbox - bridge, alone, "ms", 1.3, "SDK"))
    report(Row("the same, with the bridge", sandbox, alone, "ms", math.inf, "SDK"))
