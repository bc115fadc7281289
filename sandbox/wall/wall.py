"""Starts a launcher with all wall layers that work on this machine and with Deno, or raises an error that says why not.

The self-test runs a known script behind the wall: once for each binary, kernel and set of layers, then it is cached.
"""

from __future__ import annotations

import hashlib
import json
import logging
import platform
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

import anyio
import anyio.abc

from ..contracts import RunFault, RunTerms, SandboxError, SandboxUnavailable, run_frame
from ..disk import cache_folder
from ..jail import Layer, Wall
from ..process import NOT_NOTED, ForkServer, PlainSpawner, Running, can_fork_serve
from ..run import Bridge, Run, RunExchange, Worker

if TYPE_CHECKING:
    from pathlib import Path

    from ..ports import SandboxSettings
    from ..process import Command, HeadStart, Spawner

log = logging.getLogger("motor_cortex.sandbox")

# The layers that could keep Deno from running; the others take away nothing that it needs.
_SUSPECTS = (Layer.SECCOMP, Layer.LANDLOCK, Layer.ROOT, Layer.NAMESPACES, Layer.LIMITS)
_said: set[str] = set()

# Uses a little of everything that agent code does: types, timers, bytes, regular expressions, dates, WebAssembly, a
# deep stack.
KNOWN_SCRIPT = """
const numbers: number[] = Array.from({ length: 1000 }, (_, index) => index);
await new Promise((resolve) => setTimeout(resolve, 1));
const deep = (left: number): number => left === 0 ? 0 : 1 + deep(left - 1);
const module = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
await WebAssembly.instantiate(module);
console.log(new Date(0).toISOString());
return [numbers.reduce((sum, one) => sum + one), deep(1000), "aXb".replace(/\\p{Lu}/u, "-"), new Uint8Array(9).length];
"""
KNOWN_ANSWER = [499500, 1000, "a-b", 9]
TIMEOUT_MS = 10_000
ROOM = {"max_result_bytes": 32 * 1024, "max_output_bytes": 32 * 1024}
MAX_REMEMBERED = 50


async def open_spawner(
    command: Command,
    settings: SandboxSettings,
    tasks: anyio.abc.TaskGroup,
    layers: Collection[Layer] = tuple(Layer),
    head_start: HeadStart | None = None,
    running: Running = NOT_NOTED,
) -> tuple[Spawner, Wall]:
    """Open a tested spawner and return it with its wall. Raises SandboxUnavailable when Deno does not run here, or a
    required layer does not hold."""
    spawner = make_spawner(command, settings, tasks, layers, head_start, running)
    try:
        wall = await spawner.wall()
        trouble = None if passed_before(command, wall) else await try_known_script(spawner, settings)
        if trouble is not None:
            running.check()  # if the kill switch killed the script, that says nothing about the wall
            await spawner.aclose()
            rest = await _without_broken(command, settings, wall, trouble, running)
            spawner = make_spawner(command, settings, tasks, rest.held, None, running)
            wall = await spawner.wall()
            wall = Wall(wall.held, {**rest.absent, **wall.absent}, rest.broken)
        _judge(wall, settings)
    except BaseException:
        await spawner.aclose()
        raise
    remember(command, wall)
    return spawner, wall


def make_spawner(
    command: Command,
    settings: SandboxSettings,
    tasks: anyio.abc.TaskGroup,
    layers: Collection[Layer],
    head_start: HeadStart | None = None,
    running: Running = NOT_NOTED,
) -> Spawner:
    if not can_fork_serve():
        return PlainSpawner(command, tasks, running)
    return ForkServer(command, settings, tasks, layers, head_start, running)


def _judge(wall: Wall, settings: SandboxSettings) -> None:
    unmet = wall.unmet(settings.require)
    if unmet:
        others = {layer: reason for layer, reason in wall.absent.items() if layer not in unmet}
        also = f"; missing too: {_explain(others)}" if others else ""
        raise SandboxUnavailable(
            f"Cannot start Deno behind the wall that is required: {_explain(unmet)}{also}. "
            'See "cortex doctor"; name the layers that you do require in sandbox.require'
        )
    missing = {**wall.absent, **wall.broken}
    if missing and _explain(missing) not in _said:  # warn once only
        _said.add(_explain(missing))
        log.warning("The wall around Deno is not whole here: %s", _explain(missing))


def _explain(layers: Mapping[Layer, str]) -> str:
    """List the layers by reason, each once: `root, namespaces (not permitted); landlock (not in this kernel)`."""
    by_reason: dict[str, list[str]] = {}
    for layer, reason in layers.items():
        by_reason.setdefault(reason, []).append(layer)
    return "; ".join(f"{', '.join(names)} ({reason})" for reason, names in by_reason.items())


async def _without_broken(
    command: Command, settings: SandboxSettings, wall: Wall, trouble: str, running: Running
) -> Wall:
    """The wall without the layers that Deno does not run behind. Raises SandboxUnavailable when Deno does not run even
    without the suspects."""
    suspects = [layer for layer in _SUSPECTS if layer in wall.held]
    deeper = await _trouble_without(suspects, command, settings, wall, running) if suspects else trouble
    if deeper is not None:
        raise SandboxUnavailable(deeper if deeper.startswith("Cannot") else f"Cannot use this Deno: {deeper}")
    for suspect in suspects:
        if await _trouble_without([suspect], command, settings, wall, running) is None:
            return _left([suspect], wall, trouble)
    return _left(suspects, wall, trouble)


async def _trouble_without(
    layers: Collection[Layer], command: Command, settings: SandboxSettings, wall: Wall, running: Running
) -> str | None:
    trouble = None
    async with anyio.create_task_group() as tasks:
        spawner = make_spawner(command, settings, tasks, _left(layers, wall, "").held, None, running)
        try:
            trouble = await try_known_script(spawner, settings)
        finally:
            await spawner.aclose()
            tasks.cancel_scope.cancel()
    return trouble


def _left(broken: Collection[Layer], wall: Wall, trouble: str) -> Wall:
    """The wall without the broken layers, and without layers that need them: ROOT needs NAMESPACES."""
    gone = {*broken, Layer.ROOT} if Layer.NAMESPACES in broken else set(broken)
    reason = f"Deno does not run behind it: {trouble}"
    held = tuple(layer for layer in wall.held if layer not in gone)
    return Wall(held, wall.absent, {layer: reason for layer in wall.held if layer in gone})


async def try_known_script(spawner: Spawner, settings: SandboxSettings) -> str | None:
    """Run the known script through the whole stack. None if all is well, else what went wrong."""
    # With room for the answer: a small limit in the caller's settings must not make the test fail.
    settings = settings.model_copy(update=ROOM)
    terms = RunTerms(max_result_bytes=settings.max_result_bytes, max_output_bytes=settings.max_output_bytes)
    run = Run(KNOWN_SCRIPT, run_frame(KNOWN_SCRIPT, b"{}", terms), TIMEOUT_MS, Bridge(None, settings))
    try:
        worker = await Worker.start(spawner, settings, anyio.current_time)
        try:
            answer = await RunExchange(worker, run, settings).hold()
        finally:
            worker.discard(spawner)
    except (RunFault, SandboxError) as error:
        return str(error)
    return None if answer.value == KNOWN_ANSWER else f"a known script gave {answer.value!r:.100}"


def passed_before(command: Command, wall: Wall) -> bool:
    try:
        return _mark(command, wall).exists()
    except (OSError, RuntimeError):  # RuntimeError: the home folder is not known
        return False


def remember(command: Command, wall: Wall) -> None:
    """Cache that the test passed. A failure is never cached: it is tested again each time."""
    try:
        mark = _mark(command, wall)
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        marks = sorted(mark.parent.iterdir(), key=lambda path: path.stat().st_mtime)
        for old in marks[:-MAX_REMEMBERED]:
            old.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:
        log.debug("The self-test will be run again next time: %s", error)


def _mark(command: Command, wall: Wall) -> Path:
    binary = command.binary.stat()
    facts = [
        *(str(command.binary), binary.st_size, binary.st_mtime_ns, binary.st_ino),
        *(platform.release(), platform.machine()),
        *(sorted(wall.held), command.argv, dict(command.environment), KNOWN_SCRIPT),
        hashlib.sha256(command.harness).hexdigest(),
    ]
    return cache_folder() / "self-tests" / hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]
