"""One Deno process for one execution: starts, limits and watches it; reads lines and writes frames by a deadline."""

from __future__ import annotations

import logging
import math
import os
import select
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

import anyio
import anyio.abc
import anyio.lowlevel

from ..contracts import (
    MIB,
    PROTOCOL,
    ErrorType,
    ExecutionError,
    FrameReader,
    Line,
    MalformedFrame,
    ProcessStatus,
    Ready,
    Result,
    RunFault,
    SandboxUnavailable,
    ToolCall,
    cpu_s,
    decode,
    private_bytes,
    rehearse_frame,
    tool_result_frame,
)
from ..process import readable_before, write_all
from .diagnostics import died, out_of_memory
from .run_clock import RunClock

if TYPE_CHECKING:
    from ..ports import SandboxSettings
    from ..process import Spawner, WorkerProcess

# Warm-up runs that a process does before it is ready, one in JavaScript and one in TypeScript. Left out when a caller
# is already waiting, because they take longer than they save.
FULL_REHEARSAL = rehearse_frame(
    "for (let n = 0; n < 8; n++) await tools.a.b(context); return context", "const one: number = 1; return one"
)
NO_REHEARSAL = rehearse_frame()

log = logging.getLogger("motor_cortex.sandbox")

READ_BYTES = 64 * 1024
# One read can hold thousands of lines: take at most this many at a time, then let other tasks run.
LINES_AT_ONCE = 32
MAX_STDERR_BYTES = 16 * 1024
MAX_STDERR_READS = 32
# How often the memory and stderr of a run are checked.
WATCH_INTERVAL_S = 0.05
# Deno itself has about ten threads, and each Web Worker of the code a few more.
MAX_THREADS = 500
# A process must be seen without its main thread this many times in a row before the run is ended.
HEADLESS_LOOKS = 6
# How long to wait for the exit status of a process after its output has closed.
EXIT_NEWS_S = 1.0
# The kernel's CPU account of a process may lag behind by this much.
TICK_MS = 4.0


class Worker:
    """A started, ready and limited Deno process. Make it with `start`; end it with `discard`."""

    def __init__(self, process: WorkerProcess, settings: SandboxSettings, ready_at: float) -> None:
        self.process = process
        self.ready_at = ready_at
        self._settings = settings
        self._frames = FrameReader(settings.max_frame_bytes)
        self._lines: Iterator[Line] = iter(())
        self._is_amid_lines = False
        self._stderr = b""
        self._private_bytes_at_start = 0
        self._watch_at = math.inf
        self._headless_looks = 0
        self._cpu_s_at_start: float | None = None
        self._last_cpu_s: float | None = None
        self.on_long_run: Callable[[], None] = lambda: None
        self._status = ProcessStatus(None)
        self._writing = anyio.Lock(fast_acquire=True)

    @classmethod
    async def start(
        cls, spawner: Spawner, settings: SandboxSettings, now: Callable[[], float], *, rehearse: bool = True
    ) -> Worker:
        """Start a process and wait until it is ready and limited. Raises SandboxUnavailable, leaving nothing."""
        process = await spawner.start()
        worker = cls(process, settings, now())
        try:
            with anyio.fail_after(settings.start_timeout_ms / 1000):
                await worker._greet(spawner.harness + (FULL_REHEARSAL if rehearse else NO_REHEARSAL))
                if process.pid is None:
                    # It may be ready before the launcher has reported its pid, which is needed to measure it.
                    await process.started.wait()
                worker._private_bytes_at_start = private_bytes(process.pid)
                worker._status = ProcessStatus(process.pid)
                if not await spawner.limit_memory(process, settings.max_memory_mb * MIB):
                    log.info("The system does not limit the memory of process %s: it is only watched", process.pid)
        except TimeoutError as error:
            worker.discard(spawner)
            message = f"Cannot start Deno: it was not ready within {settings.start_timeout_ms} ms"
            raise SandboxUnavailable(message) from error
        except (MalformedFrame, RunFault) as error:
            worker.discard(spawner)
            raise SandboxUnavailable(f"Cannot start Deno: {error}") from error
        except BaseException:
            worker.discard(spawner)
            raise
        worker.ready_at = now()
        # Measured here to save time when a run begins: a waiting process uses no CPU time in between.
        worker._cpu_s_at_start = worker._last_cpu_s = cpu_s(process.pid)
        return worker

    def is_waiting(self) -> bool:
        """True while the process is alive and has written nothing that is still unread."""
        if self.process.exit is not None or self._has_said_more():
            return False
        poll = select.poll()
        poll.register(self.process.stdout, select.POLLIN)
        return not poll.poll(0)

    def _has_said_more(self) -> bool:
        """Whether more output arrived together with the last line that was taken."""
        try:
            return next(self._lines, None) is not None or self._frames.size > 0
        except MalformedFrame:
            return True

    def discard(self, spawner: Spawner) -> None:
        """Kill the process and close its pipes. Returns at once."""
        spawner.kill(self.process)
        self.process.close_pipes()
        self._status.close()

    def begin_watch(self) -> None:
        """From now on check the limits of the process every WATCH_INTERVAL_S while reading."""
        self._watch_at = anyio.current_time() + WATCH_INTERVAL_S

    def look(self) -> None:
        """Check the limits of the process now. Raises RunFault when it exceeds one."""
        self._watch()

    def peak_memory_mb(self) -> float:
        if self.process.exit is not None and self.process.exit.peak_memory_mb:
            return self.process.exit.peak_memory_mb
        return self._status.peak_mb()

    def promised_bytes(self) -> int:
        """How much more of the machine's memory it may still take; 0 once it is gone."""
        if self.process.exit is not None:
            return 0
        taken = private_bytes(self.process.pid) - self._private_bytes_at_start
        return max(0, self._settings.max_memory_mb * MIB - taken)

    def begin_account(self) -> None:
        """Restart the count of its CPU time."""
        self._cpu_s_at_start = self._last_cpu_s = cpu_s(self.process.pid)

    async def narrow(self, spawner: Spawner, max_memory_mb: int) -> None:
        """Lower its memory limit, from now on. Raises SandboxUnavailable."""
        if max_memory_mb >= self._settings.max_memory_mb:
            return
        self._settings = self._settings.model_copy(update={"max_memory_mb": max_memory_mb})
        self.process.limited = anyio.Event()
        await spawner.limit_memory(self.process, max_memory_mb * MIB)

    def computed_s(self) -> float | None:
        """CPU time of the process since it started; None where the system does not report it."""
        return cpu_s(self.process.pid)

    async def cpu_ms(self, taken_ms: float) -> float:
        """CPU time of the process since it was ready or `begin_account`; 0 where the system does not report it.

        `taken_ms` is the wall time of the run. Waits only when the process is gone.
        """
        began_s = self._cpu_s_at_start
        if began_s is None:
            return 0.0
        now_s = cpu_s(self.process.pid) if self.process.exit is None else None
        if now_s is None:
            # Its exit reports the CPU time. Otherwise code could compute, answer, and exit before it is measured.
            with anyio.move_on_after(EXIT_NEWS_S):
                await self.process.exited.wait()
            now_s = (self.process.exit.cpu_s if self.process.exit else 0.0) or self._last_cpu_s or began_s
        # The kernel has not accounted yet for a thread that has run without a pause. Zero is never the truth, so it
        # must not be charged either.
        return (now_s - began_s) * 1000 if now_s > began_s else min(taken_ms, TICK_MS)

    async def _greet(self, first_words: bytes) -> None:
        """Send the harness and its rehearsal, and wait until the process reports ready."""
        await self.write(first_words)
        while lines := await self.read(RunClock(math.inf)):
            for line in lines:
                match decode(line):
                    case Ready(protocol) if protocol == PROTOCOL:
                        return
                    case Result():
                        continue
                    case ToolCall(call_id):
                        await self.write(tool_result_frame(call_id, b"null"))
                    case other:
                        raise SandboxUnavailable(f"Cannot use this Deno: its harness said {other!r}")
        raise SandboxUnavailable(await self._why_not_ready())

    async def _why_not_ready(self) -> str:
        await self._news_of_exit()
        lines = self._stderr.decode(errors="replace").strip().splitlines()
        said = lines[0][:300] if lines else "it ended without a word"
        if out_of_memory(self._stderr):
            said = (
                f"a heap of {self._settings.max_heap_mb} MB and {self._settings.max_memory_mb} MB in all are too little"
            )
        return said if said.startswith("Cannot start") else f"Cannot start Deno: {said}"

    async def read(self, clock: RunClock) -> list[Line]:
        """Read the next lines, at least one; empty when the output is closed. Raises TimeoutError at the deadline."""
        if self._is_amid_lines:
            await self._let_others_go_on(clock)
            self._watch_now_and_then()
        while True:
            if lines := self._some_lines():
                return lines
            try:
                chunk = os.read(self.process.stdout, READ_BYTES)
            except BlockingIOError:
                await self._wait_readable(clock)
                continue
            if not chunk:
                return []
            if len(chunk) == READ_BYTES:
                await self._let_others_go_on(clock)
            self._watch_now_and_then()
            self._lines = self._frames.feed(chunk)

    def _some_lines(self) -> list[Line]:
        try:
            lines = list(islice(self._lines, LINES_AT_ONCE))
        except MalformedFrame as error:
            raise RunFault(ExecutionError(ErrorType.LIMIT, f"The process sent {error}")) from error
        self._is_amid_lines = len(lines) == LINES_AT_ONCE
        return lines

    async def _wait_readable(self, clock: RunClock) -> None:
        if await readable_before(self.process.stdout, min(clock.deadline, anyio.current_time() + WATCH_INTERVAL_S)):
            return
        if anyio.current_time() >= clock.deadline:
            raise TimeoutError
        self._watch_now_and_then()

    def _watch_now_and_then(self) -> None:
        """Check by the clock, not when the process is silent: a process that keeps writing must be checked too."""
        now = anyio.current_time()
        if now >= self._watch_at:
            self._watch_at = now + WATCH_INTERVAL_S
            self._watch()

    async def _let_others_go_on(self, clock: RunClock) -> None:
        """Yield to other tasks and check the deadline: a process that floods its output must delay neither."""
        await anyio.lowlevel.checkpoint()
        if anyio.current_time() >= clock.deadline:
            raise TimeoutError

    def _watch(self) -> None:
        self.on_long_run()
        self._drain_stderr()
        self._last_cpu_s = cpu_s(self.process.pid) or self._last_cpu_s
        look = self._status.look()
        if look.threads > MAX_THREADS:
            raise RunFault(ExecutionError(ErrorType.LIMIT, f"The code has more than {MAX_THREADS} threads"))
        # A process that is being killed also has no main thread, for a moment.
        self._headless_looks = self._headless_looks + 1 if look.is_headless else 0
        if self._headless_looks >= HEADLESS_LOOKS:
            raise RunFault(ExecutionError(ErrorType.CRASH, "The process ended its main thread and went on without it"))
        taken = private_bytes(self.process.pid) - self._private_bytes_at_start + look.kernel_bytes
        if taken > self._settings.max_memory_mb * MIB:
            message = f"The code used more than {self._settings.max_memory_mb} MB of memory"
            raise RunFault(ExecutionError(ErrorType.MEMORY, message))

    def _drain_stderr(self) -> None:
        """Read what is there and keep only the beginning: stderr must neither block the process nor fill or stall the
        host."""
        for _ in range(MAX_STDERR_READS):
            try:
                chunk = os.read(self.process.stderr, READ_BYTES)
            except BlockingIOError:
                return
            if not chunk:
                return
            self._stderr = (self._stderr + chunk)[:MAX_STDERR_BYTES]

    async def write(self, frame: bytes, deadline: float = math.inf) -> None:
        """Write one whole frame. Raises TimeoutError at the deadline."""
        await self.write_made(lambda: frame, deadline)

    async def write_made(self, make: Callable[[], bytes], deadline: float = math.inf) -> None:
        """Write a frame that is made only when its turn comes: of many large ones, one is in memory at a time."""
        async with self._writing:
            try:
                await write_all(self.process.stdin, make(), deadline)
            except OSError:
                return  # the process is gone: the reader will report it

    async def obituary(self) -> ExecutionError:
        """The error for a process whose output has closed."""
        await self._news_of_exit()
        status = self.process.exit.status if self.process.exit else None
        limit_mb = min(self._settings.max_memory_mb, self._settings.max_heap_mb)
        return died(status, self._stderr, had_much_memory=self.peak_memory_mb() > limit_mb / 2)

    async def _news_of_exit(self) -> None:
        with anyio.move_on_after(EXIT_NEWS_S):
            await self.process.exited.wait()
        self._drain_stderr()
