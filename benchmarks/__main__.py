"""`make bench`: the tables of README and docs/sandbox.md, measured on this machine."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import os
import sys
import tempfile
import time
from dataclasses import asdict
from typing import Any

import anyio

from sandbox import DenoRuntime, ExecutionRequest, SandboxSettings
from sandbox.process.command import find_deno

from .cache import cache
from .console import console
from .discovery import discovery
from .functions import functions
from .habits import habits
from .kill import kill
from .looks import looks
from .mcp import mcp
from .measure import Row, cpu_ms_of_children, cpu_ms_of_self, interleaved, p50, p99, pss_mb, rss_mb, table
from .naive import NaiveExecutor
from .neurons import neurons
from .program import program
from .record import record
from .redaction import redaction
from .signals import signals
from .storage import storage
from .telemetry import telemetry
from .tools import Echo, echo
from .turn import turn
from .wall import files, network, wall
from .workflows import workflows

SIMPLE = "return 1 + 1"
TYPED = "interface Sum { value: number }\nconst sum: Sum = { value: 1 + 1 };\nreturn sum.value as number"
AGGREGATE = """
const perAuthor = new Map();
for (const commit of context.commits) perAuthor.set(commit.author, (perAuthor.get(commit.author) ?? 0) + 1);
const top = [...perAuthor].sort((a, b) => b[1] - a[1]).slice(0, 5);
return { total: context.commits.length, top_authors: top.map(([author, commits]) => ({ author, commits })) };
"""
SEQUENTIAL = "let last; for (let i = 0; i < 100; i++) last = await tools.echo({ i }); return last"
PARALLEL = "return (await Promise.all(Array.from({ length: 100 }, (_, i) => tools.echo({ i })))).length"
OTHERS = (
    *(wall, network, files, turn, record, cache, discovery, mcp),
    *(redaction, program, looks, signals, storage, neurons, functions, habits, kill, workflows, telemetry),
    console,
)


def commits() -> dict[str, Any]:
    """A thousand commits, 1.2 MB as JSON."""
    message = "Rework the part that nobody had looked at. " * 25
    return {
        "commits": [
            {"sha": f"{n:040x}", "author": f"author-{n % 40}", "date": "2026-01-01", "message": message}
            for n in range(1000)
        ]
    }


class Bench:
    def __init__(self, quick: bool, only: str | None = None) -> None:
        self.only = only
        self.rounds = 12 if quick else 60
        self.quick = quick
        self.settings = SandboxSettings()
        self.deno = find_deno(self.settings)
        self.naive = NaiveExecutor(self.deno)
        self.rows: list[Row] = []

    async def run(self) -> None:
        async with DenoRuntime(self.settings) as runtime:
            self.runtime = runtime
            for part in (self.warm, self.aggregate, self.tools, self.timeout, self.idle_memory):
                await self.take(part)
        for part in (self.cold, self.burst, self.growth):
            await self.take(part)
        for other in OTHERS:
            await self.take(other, self.rounds, self.rows.append)

    async def take(self, part: Any, *arguments: Any) -> None:
        if self.only in (None, part.__name__):
            progress(part.__name__)
            await part(*arguments)

    async def pool_ready(self) -> None:
        while self.runtime._pool.ready < self.settings.pool_size:
            await anyio.sleep(0.005)
        await anyio.sleep(0.01)

    async def ours(self, code: str, context: Any = None, tools: Any = None) -> None:
        outcome = await self.runtime.execute(ExecutionRequest(code=code, context=context), tools)
        assert outcome.ok, outcome.error

    async def warm(self) -> None:
        taken = await interleaved(
            {
                "echo": raw_echo(),
                "naive": lambda: self.naive.execute(SIMPLE),
                "warm": lambda: self.ours(SIMPLE),
                "typescript": lambda: self.ours(TYPED),
                "naive typescript": lambda: self.naive.execute(TYPED),
            },
            self.rounds,
            self.pool_ready,
        )
        naive = p50(taken["naive"])
        self.row("return 1 + 1, warm, p50", p50(taken["warm"]), naive, 1 / 25, "naive p50")
        self.row("return 1 + 1, warm, p99", p99(taken["warm"]), naive, 1 / 5, "naive p50")
        self.row("TypeScript, warm, p50", p50(taken["typescript"]), p50(taken["naive typescript"]), 1 / 10, "naive p50")
        self.row("return 1 + 1, warm, p50", p50(taken["warm"]), p50(taken["echo"]), math.inf, "echo through a pipe")

    async def aggregate(self) -> None:
        context = commits()
        taken = await interleaved(
            {
                "ours": lambda: self.ours(AGGREGATE, context),
                "naive": lambda: self.naive.execute(AGGREGATE, context),
            },
            max(8, self.rounds // 3),
            self.pool_ready,
        )
        self.row("1.2 MB of context to a summary", p50(taken["ours"]), p50(taken["naive"]), 1 / 2.5, "naive")

    async def tools(self) -> None:
        tools = Echo()
        taken = await interleaved(
            {
                "sequential": lambda: self.ours(SEQUENTIAL, None, tools),
                "naive": lambda: self.naive.execute(SEQUENTIAL, None, echo),
                "parallel": lambda: self.ours(PARALLEL, None, tools),
            },
            max(8, self.rounds // 3),
            self.pool_ready,
        )
        sequential = p50(taken["sequential"])
        self.row("100 tool calls, one after the other", sequential, p50(taken["naive"]), 1 / 4, "naive")
        self.row("100 tool calls at once", p50(taken["parallel"]), sequential, 1.0, "one after the other")

    async def timeout(self) -> None:
        late = []
        for _ in range(3 if self.quick else 8):
            start = time.perf_counter()
            outcome = await self.runtime.execute(ExecutionRequest(code="while (true) {}", timeout_ms=1000))
            late.append((time.perf_counter() - start) * 1000 - 1000)
            assert outcome.error is not None
        self.row("infinite loop, 1 s limit: answer after it", max(late), 50, 1.0, "limit")

    async def idle_memory(self) -> None:
        await self.pool_ready()
        workers = list(self.runtime._pool._ready)
        pss = [pss_mb(worker.process.pid) for worker in workers]
        self.row("memory of a waiting process (PSS)", sum(pss) / len(pss), 14, 1.0, "limit", "MB")

    async def cold(self) -> None:
        async with DenoRuntime(SandboxSettings(pool_size=0)) as runtime:
            self.runtime = runtime
            taken = await interleaved(
                {"ours": lambda: self.ours(SIMPLE), "bare": self.bare}, self.rounds, lambda: anyio.sleep(0.03)
            )
        self.row("return 1 + 1, cold, p50", p50(taken["ours"]), p50(taken["bare"]), 1.4, "bare deno run")

    async def bare(self) -> None:
        with tempfile.NamedTemporaryFile(suffix=".ts") as empty:
            process = await asyncio.create_subprocess_exec(
                self.deno, "run", empty.name, stdin=asyncio.subprocess.DEVNULL
            )
            await process.wait()

    async def burst(self) -> None:
        at_once, times_ours, times_naive = 50, [], []
        before = cpu_ms_of_children() + cpu_ms_of_self()
        rounds = 2 if self.quick else 5
        for _ in range(rounds):
            # Close the runtime in each round, so that all its processes are reaped and their CPU time counts.
            async with DenoRuntime(self.settings) as runtime:
                self.runtime = runtime
                await self.pool_ready()
                start = time.perf_counter()
                async with anyio.create_task_group() as tasks:
                    for _ in range(at_once):
                        tasks.start_soon(self.ours, SIMPLE)
                times_ours.append((time.perf_counter() - start) * 1000)
        # The pool was filled twice in each round: before, and again after, as far as the end of the round allowed.
        started = rounds * (at_once + self.settings.pool_size)
        cpu = (cpu_ms_of_children() + cpu_ms_of_self() - before) / started
        for _ in range(rounds):
            start = time.perf_counter()
            async with anyio.create_task_group() as tasks:
                for _ in range(at_once):
                    tasks.start_soon(self.naive.execute, SIMPLE)
            times_naive.append((time.perf_counter() - start) * 1000)
        before = cpu_ms_of_children()
        for _ in range(self.rounds):
            await self.bare()
        bare_cpu = (cpu_ms_of_children() - before) / self.rounds
        self.row("50 executions at once", p50(times_ours), p50(times_naive), 0.8, "naive")
        self.row("CPU for each of them", cpu, bare_cpu, 1.25, "bare deno run")

    async def growth(self) -> None:
        total = 200 if self.quick else 2000
        taken: list[float] = []
        async with DenoRuntime(self.settings) as runtime:
            self.runtime = runtime
            for _ in range(50):
                await self.ours(SIMPLE)
            gc.collect()
            memory = rss_mb([os.getpid()])
            for _ in range(total):
                start = time.perf_counter()
                await self.ours(SIMPLE)
                taken.append((time.perf_counter() - start) * 1000)
            gc.collect()
            grown = rss_mb([os.getpid()]) - memory
        tenth = total // 10
        first, last = sum(taken[:tenth]), sum(taken[-tenth:])
        self.row(f"cost of the last {tenth} of {total}", last / tenth, first / tenth, 1.3, f"the first {tenth}")
        self.row("growth of the host's memory meanwhile", max(grown, 0.0), 4, 1.0, "limit", "MB")

    def row(self, name: str, ours: float, theirs: float, bar: float, against: str, unit: str = "ms") -> None:
        self.rows.append(Row(name, ours, theirs, unit, bar, against))


def raw_echo() -> Any:
    """A trial that measures the least cost of a round trip to another process: `cat` on two pipes."""
    to_cat, from_us = os.pipe()
    to_us, from_cat = os.pipe()
    os.set_blocking(to_us, False)
    pid = os.posix_spawnp(
        "cat",
        ["cat"],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, to_cat, 0), (os.POSIX_SPAWN_DUP2, from_cat, 1)],
    )
    os.close(to_cat)
    os.close(from_cat)
    assert pid

    async def trial() -> None:
        os.write(from_us, b"x\n")
        await anyio.wait_readable(to_us)
        os.read(to_us, 16)

    return trial


def progress(what: str) -> None:
    if sys.stderr.isatty():
        print(f"measuring: {what.replace('_', ' ')} …", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, rougher figures")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--only",
        metavar="PART",
        help="warm, aggregate, tools, timeout, idle_memory, cold, burst, growth, "
        f"{', '.join(other.__name__ for other in OTHERS)}",
    )
    options = parser.parse_args()
    bench = Bench(options.quick, options.only)
    anyio.run(bench.run)
    if options.json:
        print(json.dumps([{**asdict(row), "ratio": row.ratio, "held": row.held} for row in bench.rows], default=str))
    else:
        print(table(bench.rows))


if __name__ == "__main__":
    main()
