"""Tests whether Deno runs behind this wall: once for each binary, kernel and set of layers, then cached."""

from __future__ import annotations

import hashlib
import json
import logging
import platform
from typing import TYPE_CHECKING

import anyio

from ..contracts import RunFault, RunTerms, SandboxError, run_frame
from ..disk import cache_folder
from ..run import Bridge, Conversation, Run, Worker

if TYPE_CHECKING:
    from pathlib import Path

    from ..jail import Wall
    from ..ports import SandboxSettings
    from ..process import Command, Spawner

log = logging.getLogger("motor_cortex.sandbox")

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


async def try_known_script(spawner: Spawner, settings: SandboxSettings) -> str | None:
    """Run the known script through the whole stack. None if all is well, else what went wrong."""
    # With room for the answer: a small limit in the caller's settings must not make the test fail.
    settings = settings.model_copy(update=ROOM)
    terms = RunTerms(max_result_bytes=settings.max_result_bytes, max_output_bytes=settings.max_output_bytes)
    run = Run(KNOWN_SCRIPT, run_frame(KNOWN_SCRIPT, b"{}", terms), TIMEOUT_MS, Bridge(None, settings))
    try:
        worker = await Worker.start(spawner, settings, anyio.current_time)
        try:
            answer = await Conversation(worker, run, settings).hold()
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
