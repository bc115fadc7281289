"""Two MCP servers as functions in the sandbox, and one program over both. What a model would ask for is asked for by
hand here: find a function, read its declaration, run code.

Prints:

    commit-log.list_commits  List commits of the repository, …
    declare const tools: {…
    {"commits":42,"urgent":5,"busiest":"Priya Nair"}
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from cortex import MotorCortex, Settings

HERE = Path(__file__).resolve().parent
TABLE = json.loads((HERE / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]
# Started in this folder, which has their modules; without it, in the home of the user.
SERVERS = {name: {**server, "cwd": str(HERE)} for name, server in TABLE.items()}

CODE = """
const [log, desk] = await Promise.all([
  tools.commitLog.listCommits({ since: "2026-03-23", until: "2026-03-30" }),
  tools.ticketDesk.listTickets({ status: "open", priority: "urgent" }),
]);
const byAuthor = Map.groupBy(log.commits, (commit) => commit.author.name);
const [busiest] = [...byAuthor].toSorted((a, b) => b[1].length - a[1].length)[0];
return { commits: log.total, urgent: desk.total, busiest };
"""


async def main(home: str) -> None:
    async with MotorCortex(Settings(home=home, mcpServers=SERVERS)) as cortex, cortex.turn() as turn:
        # A search waits a few seconds for servers that start, and tells which are not there yet: then ask again.
        search = {"query": "list commits since a date"}
        while "it is still starting" in (found := await turn.call("core.search", search)):
            pass
        print(found)
        print(await turn.call("core.describe", {"tools": ["commit-log.list_commits"]}))
        print(await turn.call("core.execute", {"purpose": "look at last week", "code": CODE}))


with TemporaryDirectory() as home:
    anyio.run(main, home)
