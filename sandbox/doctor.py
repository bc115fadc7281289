"""Tests which parts of the sandbox work on this machine. For `cortex doctor`."""

from __future__ import annotations

import platform
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal

import anyio

from .contracts import ErrorType, ExecutionRequest, SandboxError, SandboxUnavailable
from .jail import Wall
from .layer_checks import BehindLayers, try_layers
from .ports import SandboxSettings
from .process import PERMISSIONS, can_fork_serve, find_deno
from .runtime import DenoRuntime

Verdict = Literal["ok", "held", "absent", "broken"]
"""A layer of the wall is held, absent or broken; everything else is ok, absent or broken."""

SUM = "const two: number = 1 + 1; return [two, Deno.version.deno]"
# Returns the names of the attempts that succeeded.
TRY_EVERYTHING = """
const attempts = {
  "reading a file": () => Deno.readTextFileSync("/etc/passwd"),
  "writing a file": () => Deno.makeTempFileSync(),
  "the environment": () => Deno.env.toObject(),
  "the network": () => Deno.listen({ hostname: "127.0.0.1", port: 0 }),
  "another program": () => new Deno.Command("/bin/true").outputSync(),
  "native code": () => Deno.dlopen("libc.so.6", {}),
  "facts of the system": () => Deno.hostname(),
  "a module": () => import("file:///etc/passwd", { with: { type: "text" } }),
};
const allowed = [];
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    await attempt();
    allowed.push(name);
  } catch { /* as it should be */ }
}
return allowed;
"""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One line of the report of `cortex doctor`."""

    name: str
    verdict: Verdict
    detail: str


async def examine(settings: SandboxSettings) -> AsyncIterator[Diagnosis]:
    """Check one thing after the other and yield a diagnosis for each. Skip what depends on a broken thing."""
    yield Diagnosis("Python", "ok", f"{platform.python_version()} on {platform.system()} {platform.release()}")
    try:
        deno = find_deno(settings)
    except SandboxUnavailable as error:
        yield Diagnosis("Deno", "broken", str(error))
        return
    yield Diagnosis("Deno", "ok", str(deno))
    yield _launcher()
    try:
        async for finding in _try_runtime(settings):
            yield finding
    except SandboxError as error:
        yield Diagnosis("start", "broken", str(error))


def _launcher() -> Diagnosis:
    if can_fork_serve():
        return Diagnosis("launcher", "ok", "processes start, are limited and end through it")
    detail = "not on this system: memory is watched and not limited, a host killed by force can leave a process"
    return Diagnosis("launcher", "absent", detail)


async def _try_runtime(settings: SandboxSettings) -> AsyncIterator[Diagnosis]:
    # Ignore `require` here: the missing layers are shown below, and at the end whether the settings would refuse them.
    required, settings = settings.require, settings.model_copy(update={"require": ()})
    cold = settings.model_copy(update={"pool_size": 0})
    async with DenoRuntime(cold) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=SUM))
        if not outcome.ok or outcome.result[0] != 2:
            what = outcome.error.message if outcome.error else outcome.result
            yield Diagnosis("run", "broken", f"a script gave: {what}")
            return
        yield Diagnosis("run", "ok", f"a TypeScript script ran on Deno {outcome.result[1]}")
        yield Diagnosis("cold start", "ok", f"{outcome.metrics.startup_ms:.1f} ms until a process was ready")
    yield await _permissions(cold)
    yield await _pool(settings)
    yield await _timeout(cold)
    async for finding in _layers(cold, runtime.wall):
        yield finding
    unmet = runtime.wall.unmet(required)
    if unmet:
        yield Diagnosis("require", "broken", f"no code runs here: {', '.join(unmet)} must hold and does not")


async def _layers(settings: SandboxSettings, wall: Wall) -> AsyncIterator[Diagnosis]:
    async for layer, trouble, detail in try_layers(settings, wall):
        yield Diagnosis(layer, "broken" if trouble else "held", trouble or detail)
    for layer, reason in wall.broken.items():
        yield Diagnosis(layer, "broken", reason)
    for layer, reason in wall.absent.items():
        yield Diagnosis(layer, "absent", reason)


async def _permissions(settings: SandboxSettings) -> Diagnosis:
    async with BehindLayers(settings, (), PERMISSIONS) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=TRY_EVERYTHING))
    if not outcome.ok or outcome.result:
        return Diagnosis("permissions", "broken", f"allowed: {outcome.error or ', '.join(outcome.result)}")
    return Diagnosis("permissions", "ok", "files, network, environment, programs, native code and modules are denied")


async def _pool(settings: SandboxSettings) -> Diagnosis:
    if settings.pool_size == 0:
        return Diagnosis("warm pool", "absent", "pool_size is 0: every execution starts a process")
    async with DenoRuntime(settings.model_copy(update={"pool_size": 1})) as runtime:
        taken = []
        for _ in range(5):
            await anyio.sleep(0.1)
            outcome = await runtime.execute(ExecutionRequest(code="return 1 + 1"))
            if not outcome.ok:
                return Diagnosis("warm pool", "broken", f"an execution gave: {outcome.error}")
            taken.append(outcome.metrics.total_ms)
    return Diagnosis(
        "warm pool", "ok", f"{min(taken):.1f} ms for an execution at best, {sorted(taken)[2]:.1f} ms usually"
    )


async def _timeout(settings: SandboxSettings) -> Diagnosis:
    async with DenoRuntime(settings) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code="while (true) {}", timeout_ms=200))
    late_ms = outcome.metrics.execution_ms - 200
    if outcome.error is None or outcome.error.type is not ErrorType.TIMEOUT:
        return Diagnosis("time limit", "broken", f"an endless loop gave {outcome.error or outcome.result}")
    return Diagnosis("time limit", "ok", f"an endless loop was answered {max(late_ms, 0):.1f} ms after its limit")
