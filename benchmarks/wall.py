"""Benchmark of the wall, the network tier and a workspace: what each costs."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import anyio

from sandbox import DenoRuntime, ExecutionRequest, Layer, NetworkPolicy, SandboxSettings, Tier, Workspace
from sandbox.layer_checks import BehindLayers
from sandbox.process.command import PERMISSIONS

from .measure import Report, Row, interleaved, p50
from .server import running
from .tools import Echo

TIMES = 40
# Each script times many requests in one process and returns the milliseconds of one. The first request is not counted,
# because it also loads Deno's own classes.
FETCH = """
const ask = async () => (await (await fetch(context.url)).arrayBuffer()).byteLength;
await ask();
const start = performance.now();
for (let n = 0; n < context.times; n++) await ask();
return (performance.now() - start) / context.times;
"""
READ = FETCH.replace("(await (await fetch(context.url)).arrayBuffer()).byteLength", 'await Deno.readFile("file")')
WRITE = FETCH.replace(
    "(await (await fetch(context.url)).arrayBuffer()).byteLength", 'await Deno.writeFile("new", new Uint8Array(4096))'
)
# A tool call, for comparison.
CALL = FETCH.replace("(await (await fetch(context.url)).arrayBuffer()).byteLength", "await tools.echo({})")


async def wall(rounds: int, report: Report) -> None:
    """Measure a start behind all layers against a start behind none, and the same with a large host."""
    async with AsyncExitStack() as stack:
        settings = SandboxSettings(pool_size=0)
        with_wall = await stack.enter_async_context(BehindLayers(settings, tuple(Layer), PERMISSIONS))
        without = await stack.enter_async_context(BehindLayers(settings, (), PERMISSIONS))
        trials = {"with": starts(with_wall), "without": starts(without)}
        taken = await interleaved(trials, rounds, lambda: anyio.sleep(0.03))
        ballast = bytearray(b"x") * (512 << 20)
        loaded = await interleaved({"with": starts(with_wall)}, max(8, rounds // 3), lambda: anyio.sleep(0.03))
        del ballast
    behind, bare = p50(taken["with"]), p50(taken["without"])
    report(Row("start of a process behind the wall", behind, bare, "ms", 1.4, "without it"))
    report(Row("what the wall adds to a start", max(0.0, behind - bare), 5, "ms", 1.0, "limit"))
    report(Row("the same start from a host of 512 MB more", p50(loaded["with"]), behind, "ms", 1.4, "a small host"))


def starts(runtime: DenoRuntime) -> Callable[[], Awaitable[object]]:
    async def start() -> None:
        outcome = await runtime.execute(ExecutionRequest(code="return 1"))
        assert outcome.ok, outcome.error

    return start


async def network(rounds: int, report: Report) -> None:
    import httpx2

    with running() as address:
        policy = NetworkPolicy.model_validate({"allow": [address], "max_requests": 10_000, "max_total_bytes": 1 << 30})
        for name, path in (("a request", "/small"), ("a response of 1 MB", "/large")):
            brokered, direct = [], []
            async with (
                DenoRuntime(SandboxSettings(pool_size=1, network=policy)) as runtime,
                httpx2.AsyncClient() as client,
            ):
                for _ in range(max(3, rounds // 10)):
                    brokered.append(await inside(runtime, FETCH, url=address + path))
                    direct.append(await outside(client, address + path))
            ours, theirs = p50(brokered), p50(direct)
            if path == "/small":
                report(Row("what the broker adds to a request", max(0.0, ours - theirs), 1.5, "ms", 1.0, "limit"))
            report(Row(f"{name} through the broker", ours, theirs, "ms", float("inf"), "httpx2 itself"))


async def files(rounds: int, report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "file").write_bytes(b"x" * 4096)
        taken: dict[str, list[float]] = {"read": [], "write": [], "call": []}
        async with DenoRuntime(SandboxSettings(pool_size=1)) as runtime:
            for _ in range(max(3, rounds // 10)):
                taken["read"].append(await inside(runtime, READ, Workspace(folder)))
                taken["write"].append(await inside(runtime, WRITE, Workspace(folder)))
                taken["call"].append(await inside(runtime, CALL))
        for verb in ("read", "write"):
            report(
                Row(
                    f"{verb} of a file of 4 KB", p50(taken[verb]), p50(taken["call"]), "ms", float("inf"), "a tool call"
                )
            )


async def inside(runtime: DenoRuntime, code: str, workspace: Workspace | None = None, url: str = "") -> float:
    request = ExecutionRequest(code=code, tier=Tier.NETWORK, context={"url": url, "times": TIMES})
    outcome = await runtime.execute(request, Echo(), workspace=workspace)
    assert outcome.ok, outcome.error
    return float(outcome.result)


async def outside(client: object, url: str) -> float:
    async def ask() -> None:
        assert (await client.get(url)).content  # type: ignore[attr-defined]

    await ask()
    start = time.perf_counter()
    for _ in range(TIMES):
        await ask()
    return (time.perf_counter() - start) * 1000 / TIMES
