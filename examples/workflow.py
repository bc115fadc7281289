"""A workflow over two MCP servers: list the commits of a week, group them by author, ask a person, post the report. The
program ends while the question waits, as it would after a crash, and the next one goes on from the journal.

Prints:

    asked: Open a ticket with this report?
    …
    (the program ends, and another one starts)
    done: T-061 42 commits of 12 people since 2026-03-23
    state: {'total': 42}
    1 run_queued
    2 run_started
    …
    … run_done
"""

import json
from contextlib import aclosing
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from cortex import MotorCortex, Settings
from cortex.workflows import Approve, Plan, checked, with_inputs

HERE = Path(__file__).resolve().parent
TABLE = json.loads((HERE / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]
# Started in this folder, which has their modules; without it, in the home of the user.
SERVERS = {name: {**server, "cwd": str(HERE)} for name, server in TABLE.items()}
PLAN = json.loads((HERE / "workflows" / "commit_report.json").read_text(encoding="utf-8"))


async def start(settings: Settings, plan: Plan) -> tuple[str, str]:
    """Start the run, and let it go on as far as its question. Returns the run and the hash of what was shown."""
    async with MotorCortex(settings) as cortex:
        run = await cortex.workflows.start(plan)
        async with aclosing(cortex.workflows.events(run.id)) as events:
            async for event in events:
                if event.kind == "run_waiting":
                    break
        state = cortex.workflows.show(run.id)
        if state.run.status != "waiting":
            raise SystemExit(f"the run is {state.run.status}: {state.run.reason}")
        question = state.decisions["sure"]
        print("asked:", question.shown)
        return run.id, question.shown_hash


async def answer(settings: Settings, run: str, shown_hash: str) -> None:
    """Say yes to exactly what was shown. What was done before the question is not done again."""
    async with MotorCortex(settings) as cortex:
        workflows = cortex.workflows
        await workflows.resume(run)
        await workflows.decide(run, "sure", Approve(), shown_hash=shown_hash, by="ann")
        result = await workflows.wait(run)
        ticket = result.state["tasks"]["post"]
        print(f"{result.run.status}: {ticket['id']} {ticket['title']}")
        print("state:", result.state["context"])
        async for event in workflows.events(run):
            print(event.seq, event.kind)


async def main(home: str) -> None:
    settings = Settings(home=home, mcpServers=SERVERS)
    plan = with_inputs(checked(PLAN), {"since": "2026-03-23", "until": "2026-03-30"})
    run, shown_hash = await start(settings, plan)
    print("(the program ends, and another one starts)")
    await answer(settings, run, shown_hash)


with TemporaryDirectory() as home:
    anyio.run(main, home)
