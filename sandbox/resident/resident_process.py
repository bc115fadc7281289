"""The process of a resident program: loads the code, watches the process between batches, replaces it when needed."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

import anyio
import anyio.abc

from ..contracts import ErrorType, ExecutionError, ResidentTerms, RunFault, SandboxUnavailable, reside_frame
from ..run import Bridge, Run, RunExchange

if TYPE_CHECKING:
    from ..contracts import ResidentProgram
    from ..ports import SandboxSettings
    from ..process import Running, Spawner
    from ..run import Worker

# Timeout for loading: enough for TypeScript on a busy machine, and the maximum. In between it grows with the time limit
# of a signal: if code ever finds a way to run while it is loaded, it has no more than a few signals' time for it.
LOAD_MS = 2_000
LOAD_TIMEOUT_MS = 10_000
LOAD_SIGNALS = 2
# CPU time of loading that is not charged: several times what loading takes by itself. More is charged to the code.
FREE_LOAD_CPU_MS = 50.0
# At most this many signals in a frame: per signal it is no faster than a frame of half as many.
MAX_IN_FRAME = 256
# Between batches: how often the process is checked, and how much CPU time it may use, as for garbage collection.
IDLE_LOOK_S = 1.0
MAX_IDLE_CPU_S = 0.5
# The process is replaced after this share of its CPU limit. The rest is reserved for the batch it is handling.
WORN_SHARE = 0.5


class Source(NamedTuple):
    """Where a resident program gets its processes from."""

    take: Callable[[], Awaitable[tuple[Worker, Spawner]]]
    """Returns a ready process and the spawner that can kill it. Raises SandboxUnavailable."""
    running: Running
    """The notes of running processes. They also say why nothing may run."""


def most_at_once(timeout_ms: int, cpu_s: float, cores: int) -> int:
    """How many signals fit into the rest of a process's CPU limit, even if each uses all cores until its timeout."""
    return max(1, min(MAX_IN_FRAME, int(cpu_s / (timeout_ms / 1000 * cores))))


def load_timeout_ms(timeout_ms: int) -> int:
    """How long loading may take for a program whose signals may take `timeout_ms`."""
    return min(LOAD_TIMEOUT_MS, LOAD_MS + LOAD_SIGNALS * timeout_ms)


class ResidentProcess:
    """Holds at most one loaded process for a resident program, and replaces it when it can no longer be used."""

    def __init__(self, program: ResidentProgram, settings: SandboxSettings, source: Source, bridge: Bridge) -> None:
        self._program = program
        self._settings = settings
        self._source = source
        terms = ResidentTerms(
            tools=bridge.manifest(),
            tier=program.tier,
            workspace=bridge.has_files,
            deterministic=program.deterministic,
            max_output_bytes=settings.max_output_bytes,
            max_frame_bytes=settings.max_frame_bytes,
            max_state_bytes=program.max_state_bytes,
            max_emitted=program.max_emitted,
            max_signal_bytes=program.max_signal_bytes,
            is_function=program.is_function,
        )
        self._frame = reside_frame(program.code, terms)
        self._held: tuple[Worker, Spawner] | None = None
        self._is_closed = False
        self._is_resting = False
        self._rested_cpu_s: float | None = None
        self._uncharged_cpu_ms = 0.0
        self._watching = anyio.CancelScope()
        self._worn_cpu_s = settings.max_cpu_s * WORN_SHARE
        self.most_at_once = most_at_once(program.timeout_ms, self._worn_cpu_s, os.cpu_count() or 1)
        self.mistake: ExecutionError | None = None
        """Why the code can never be loaded."""
        self.losses: list[str] = []
        """Why processes were replaced between batches. The caller that reports them empties the list."""

    async def ready(self) -> Worker:
        """The loaded and waiting process; a new one if the last one can no longer be used.

        Raises SandboxUnavailable when no process is available, RunFault when the code could not be loaded.
        """
        self.check()
        self._is_resting = False
        if self._held is not None and not self._held[0].is_waiting():
            self._lose("it ended, or spoke without being asked")
        if self._held is not None and (self._held[0].computed_s() or 0.0) > self._worn_cpu_s:
            self.drop()  # not its fault: the system would kill it soon, at its CPU limit
        if self._held is None:
            self._held = await self._load()
        return self._held[0]

    def uncharged_cpu_ms(self) -> float:
        """CPU time that belongs to no batch: loading beyond the free amount, or computing after the last answer of a
        process that was replaced. Reading it resets it to zero."""
        told, self._uncharged_cpu_ms = self._uncharged_cpu_ms, 0.0
        return told

    def check(self) -> None:
        """Raises SandboxUnavailable while running is forbidden, and for ever once it is closed."""
        if self._is_closed:  # nothing would end the process any more
            raise SandboxUnavailable("Cannot start Deno: the program has been ended")
        self._source.running.check()

    def rest(self) -> None:
        """Mark that a batch is done: from now on the process should compute nothing."""
        if self._held is not None:
            self._rested_cpu_s = self._held[0].computed_s()
            self._is_resting = True

    def drop(self) -> None:
        """Kill the process, if there is one. Returns at once."""
        held, self._held = self._held, None
        if held is not None:
            self._end(*held)

    def close(self) -> None:
        self._is_closed = True
        self._watching.cancel()
        self.drop()

    async def watch(self) -> None:
        """Check the process between batches, until it is closed."""
        with self._watching:
            while True:
                await anyio.sleep(IDLE_LOOK_S)
                if self._held is not None and self._is_resting:
                    self._look(self._held[0])

    def _look(self, worker: Worker) -> None:
        now_s = worker.computed_s()
        if now_s is not None and self._rested_cpu_s is not None and now_s - self._rested_cpu_s > MAX_IDLE_CPU_S:
            self._lose("it went on computing after its answer")
            return
        try:
            worker.look()
        except RunFault as fault:
            self._lose(fault.error.message)

    def _lose(self, why: str) -> None:
        self.losses.append(f"The process was replaced: {why}")
        if self._held is not None and self._rested_cpu_s is not None:
            now_s = self._held[0].computed_s() or self._rested_cpu_s
            self._uncharged_cpu_ms += max(0.0, now_s - self._rested_cpu_s) * 1000
        self.drop()

    def _end(self, worker: Worker, spawner: Spawner) -> None:
        worker.discard(spawner)
        if worker.process.pid is not None:
            self._source.running.forget(worker.process.pid)

    async def _load(self) -> tuple[Worker, Spawner]:
        worker, spawner = await self._source.take()
        assert worker.process.pid is not None
        timeout_ms = load_timeout_ms(self._program.timeout_ms)
        run = Run(self._program.code, self._frame, timeout_ms, Bridge(None, self._settings), self._program.tier)
        try:
            # Note it before it has any code: a process that the kill command cannot find by name must not run.
            self._source.running.note(worker.process.pid)
            with anyio.fail_after(self._settings.start_timeout_ms / 1000):
                await worker.narrow(spawner, self._program.max_memory_mb)
            worker.begin_account()
            await RunExchange(worker, run, self._settings).hold()
            await self._charge(worker)
        except RunFault as fault:
            self._end(worker, spawner)
            if fault.error.type is ErrorType.SYNTAX:
                self.mistake = fault.error
            await self._charge(worker)
            raise
        except TimeoutError as error:
            self._end(worker, spawner)
            raise SandboxUnavailable("Cannot start Deno: its memory was not limited in time") from error
        except BaseException:
            self._end(worker, spawner)
            raise
        if self._is_closed:  # closed while loading
            self._end(worker, spawner)
            self.check()
        worker.begin_account()
        return worker, spawner

    async def _charge(self, worker: Worker) -> None:
        """Charge the CPU time of loading, beyond the free amount, to the next batch."""
        self._uncharged_cpu_ms += max(0.0, await worker.cpu_ms(0.0) - FREE_LOAD_CPU_MS)
