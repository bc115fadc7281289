"""Tests each layer of the wall alone, with Deno's own permissions switched off. For `cortex doctor`.

A layer counts as held when the attempts that it must stop succeed without any layer and fail behind this one alone: an
attempt that another layer would also have stopped proves nothing.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import anyio.to_thread

from .contracts import ErrorType, ExecutionRequest, SandboxError
from .jail import Layer, Wall
from .ports import SandboxSettings
from .process import Command, ForkServer, Spawner, deno_command, find_deno
from .run import Worker
from .runtime import DenoRuntime
from .wall import make_spawner

ALLOW_ALL = ("--allow-all", "--no-prompt")

# Returns the names of the attempts that succeeded.
ATTEMPTS = """
const attempts = {
  "see a file": () => Deno.statSync(context.file),
  "read a file": () => Deno.readTextFileSync(context.file),
  "write a file": () => Deno.writeTextFileSync(context.file, "overwritten"),
  "open 300 files": () => { for (let n = 0; n < 300; n++) Deno.openSync(Deno.execPath()); },
  "connect": async () => (await Deno.connect({ hostname: "127.0.0.1", port: context.port })).close(),
  "start a program": () => new Deno.Command(Deno.execPath(), { args: ["--version"], stdout: "null" }).outputSync(),
  "signal another process": () => Deno.kill(Deno.ppid, "SIGCONT"),
};
const succeeded = [];
for (const [name, attempt] of Object.entries(attempts)) {
  try {
    await attempt();
    succeeded.push(name);
  } catch { /* stopped */ }
}
return succeeded;
"""
STOPS = {
    Layer.LIMITS: ("write a file", "open 300 files"),
    Layer.LANDLOCK: ("read a file", "write a file"),
    Layer.SECCOMP: ("write a file", "connect", "start a program", "signal another process"),
    Layer.NAMESPACES: ("connect",),
    Layer.ROOT: ("see a file", "read a file", "write a file"),
}
# This memory is never touched: the exact limit counts it anyway, but the host's own watch, which would stop the code
# later, does not see it.
TAKE_MEMORY = "return new Uint8Array(2 ** 30).length"
TRIAL_LIMIT_MB = 128
PATIENCE_S = 5.0


class BehindLayers(DenoRuntime):
    """A runtime for tests: only these layers, and these Deno permissions. No setting leads here."""

    def __init__(self, settings: SandboxSettings, layers: Collection[Layer], permissions: Sequence[str]) -> None:
        super().__init__(settings.model_copy(update={"pool_size": 0, "require": ()}))
        self._trial_layers = tuple(layers)
        self._permissions = permissions

    def _layers(self) -> Collection[Layer]:
        return self._trial_layers

    def _command(self) -> Command:
        return deno_command(find_deno(self.settings), self.settings, self._permissions)


async def try_layers(settings: SandboxSettings, wall: Wall) -> AsyncIterator[tuple[Layer, str | None, str]]:
    """For each layer that should hold: its name, what is wrong with it or None, and what it stopped."""
    with _bait() as bait:
        control = await _succeeded(settings, (), bait)
        for layer in wall.held:
            if layer not in STOPS:
                trouble, detail = await _OTHERWISE[layer](settings)
                yield layer, trouble, detail
                continue
            needed = {layer, Layer.NAMESPACES} if layer is Layer.ROOT else {layer}
            behind = await _succeeded(settings, needed, bait)
            yield layer, _trouble(STOPS[layer], control, behind), f"stopped: {', '.join(STOPS[layer])}"


def _trouble(attempts: Iterable[str], control: Collection[str], behind: Collection[str]) -> str | None:
    untried = [name for name in attempts if name not in control]
    if untried:
        return f"cannot be tried: {', '.join(untried)} fails without it too"
    passed = [name for name in attempts if name in behind]
    return f"did not stop: {', '.join(passed)}" if passed else None


async def _succeeded(settings: SandboxSettings, layers: Collection[Layer], bait: dict[str, Any]) -> list[str]:
    async with BehindLayers(settings, layers, ALLOW_ALL) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=ATTEMPTS, timeout_ms=10_000, context=bait))
    if outcome.error is not None:
        raise SandboxError(f"a trial behind {', '.join(layers) or 'no layer'} failed: {outcome.error.message}")
    return list(outcome.result)


async def _try_session(settings: SandboxSettings) -> tuple[str | None, str]:
    async with _waiting_process(settings, Layer.SESSION) as (_, pid):
        leads = os.getpgid(pid) == pid
        is_apart = os.getsid(pid) != os.getsid(0)
    if not is_apart:
        return "the process is in the host's session", ""
    return (
        None if leads else "the process leads no group",
        "the process leads a group, in another session than the host",
    )


async def _try_no_new_privs(settings: SandboxSettings) -> tuple[str | None, str]:
    async with _waiting_process(settings, Layer.NO_NEW_PRIVS) as (_, pid):
        is_set = "NoNewPrivs:\t1" in await anyio.Path(f"/proc/{pid}/status").read_text()
    return None if is_set else "the kernel does not show it", "the kernel shows it for the process"


async def _try_parent_death(settings: SandboxSettings) -> tuple[str | None, str]:
    async with _waiting_process(settings, Layer.PARENT_DEATH) as (spawner, pid):
        assert isinstance(spawner, ForkServer)  # only it promises this layer
        watch, is_dead = os.pidfd_open(pid), False
        try:
            spawner.kill_launcher()
            is_dead = await anyio.to_thread.run_sync(_ends_soon, watch)
        finally:
            os.close(watch)
            if not is_dead:
                os.kill(pid, signal.SIGKILL)
    return None if is_dead else "the process outlived its launcher", "the process died with its launcher"


def _ends_soon(watch: int) -> bool:
    poll = select.poll()
    poll.register(watch, select.POLLIN)
    return bool(poll.poll(PATIENCE_S * 1000))


async def _try_memory(settings: SandboxSettings) -> tuple[str | None, str]:
    limited = settings.model_copy(update={"max_memory_mb": TRIAL_LIMIT_MB})
    async with BehindLayers(limited, (Layer.MEMORY,), ALLOW_ALL) as runtime:
        outcome = await runtime.execute(ExecutionRequest(code=TAKE_MEMORY, timeout_ms=10_000))
    what = f"1 GB under a limit of {TRIAL_LIMIT_MB} MB"
    if outcome.error is None or outcome.error.type is not ErrorType.MEMORY:
        return f"{what} gave {outcome.error or 'a result'}", ""
    return None, f"{what} was refused"


_OTHERWISE = {
    Layer.SESSION: _try_session,
    Layer.NO_NEW_PRIVS: _try_no_new_privs,
    Layer.PARENT_DEATH: _try_parent_death,
    Layer.MEMORY: _try_memory,
}


@asynccontextmanager
async def _waiting_process(settings: SandboxSettings, layer: Layer) -> AsyncIterator[tuple[Spawner, int]]:
    """Start a process behind this layer alone; it waits for its code."""
    async with anyio.create_task_group() as tasks:
        command = deno_command(find_deno(settings), settings, ALLOW_ALL)
        spawner = make_spawner(command, settings, tasks, (layer,))
        try:
            worker = await Worker.start(spawner, settings, anyio.current_time, rehearse=False)
            try:
                assert worker.process.pid is not None
                yield spawner, worker.process.pid
            finally:
                worker.discard(spawner)
        finally:
            await spawner.aclose()
            tasks.cancel_scope.cancel()


@contextmanager
def _bait() -> Iterator[dict[str, Any]]:
    """Create a file and a server of our own for the attempts."""
    with tempfile.NamedTemporaryFile(prefix="motor-cortex-") as file, socket.create_server(("127.0.0.1", 0)) as server:
        yield {"file": file.name, "port": server.getsockname()[1]}
