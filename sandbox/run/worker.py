"""One process: started, ready and limited; lines to read from it and frames to write, never beyond a deadline."""

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

# What a process does before it is ready, so that the first real run is not its first: once in each language. It is
# left out when somebody is waiting already, because it takes longer than it saves.
FULL_REHEARSAL = rehearse_frame(
    "for (let n = 0; n < 8; n++) await tools.a.b(context); return context", "const one: number = 1; return one"
)
NO_REHEARSAL = rehearse_frame()

log = logging.getLogger("motor_cortex.sandbox")

READ_BYTES = 64 * 1024
# A read can hold thousands of lines: so many are taken at a time, and then the other tasks have their turn.
LINES_AT_ONCE = 32
MAX_STDERR_BYTES = 16 * 1024
MAX_STDERR_READS = 32
# How often a run is looked at: its memory, and what it wrote to stderr.
WATCH_INTERVAL_S = 0.05
# Deno itself has about ten, and each Worker of the code a few more.
MAX_THREADS = 500
# So often in a row is a process seen without its main thread before it counts.
HEADLESS_LOOKS = 6
# How long the exit status of a process may take to arrive after its output has closed.
EXIT_NEWS_S = 1.0
# So far may the kernel's account of a process lag behind.
TICK_MS = 4.0


class Worker:
    def __init__(self, process: WorkerProcess, settings: SandboxSettings, ready_at: float) -> None:
        self.process = process
        self.ready_at = ready_at
        self._settings = settings
        self._frames = FrameReader(settings.max_frame_bytes)
        self._lines: Iterator[bytes] = iter(())
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
                    # It may be ready before the launcher has said which one it is, and could not be measured.
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
        # Here and not when a run begins, which must not wait for it: a process that waits computes nothing.
        worker._cpu_s_at_start = worker._last_cpu_s = cpu_s(process.pid)
        return worker

    def is_waiting(self) -> bool:
        """True while the process is alive and has said nothing but what was read from it."""
        if self.process.exit is not None or self._has_said_more():
            return False
        poll = select.poll()
        poll.register(self.process.stdout, select.POLLIN)
        return not poll.poll(0)

    def _has_said_more(self) -> bool:
        """Whether more came together with the last line that was taken."""
        try:
            return next(self._lines, None) is not None or self._frames.is_amid_line
        except MalformedFrame:
            return True

    def discard(self, spawner: Spawner) -> None:
        """Kill the process and let go of its pipes. Returns at once."""
        spawner.kill(self.process)
        self.process.close_pipes()
        self._status.close()

    def begin_watch(self) -> None:
        """Look after the process from now on, every now and then."""
        self._watch_at = anyio.current_time() + WATCH_INTERVAL_S

    def look(self) -> None:
        """Look after it now. Raises RunFault when it has more than it may."""
        self._watch()

    def peak_memory_mb(self) -> float:
        if self.process.exit is not None and self.process.exit.peak_memory_mb:
            return self.process.exit.peak_memory_mb
        return self._status.peak_mb()

    def promised_bytes(self) -> int:
        """What it may still take of the machine's memory; nothing once it is gone."""
        if self.process.exit is not None:
            return 0
        taken = private_bytes(self.process.pid) - self._private_bytes_at_start
        return max(0, self._settings.max_memory_mb * MIB - taken)

    def begin_account(self) -> None:
        """Count what it computes anew, from now on."""
        self._cpu_s_at_start = self._last_cpu_s = cpu_s(self.process.pid)

    async def narrow(self, spawner: Spawner, max_memory_mb: int) -> None:
        """Hold it to less memory than it was started with, from now on. Raises SandboxUnavailable."""
        if max_memory_mb >= self._settings.max_memory_mb:
            return
        self._settings = self._settings.model_copy(update={"max_memory_mb": max_memory_mb})
        self.process.limited = anyio.Event()
        await spawner.limit_memory(self.process, max_memory_mb * MIB)

    def computed_s(self) -> float | None:
        """What the process has computed in its life; None where nobody tells."""
        return cpu_s(self.process.pid)

    async def cpu_ms(self, taken_ms: float) -> float:
        """What the process has computed since it was ready, in a run that took so long; 0 where nobody tells.

        Waits only for one that is gone.
        """
        began_s = self._cpu_s_at_start
        if began_s is None:
            return 0.0
        now_s = cpu_s(self.process.pid) if self.process.exit is None else None
        if now_s is None:
            # Its exit tells. Otherwise code could compute, answer, and be gone before anybody looks.
            with anyio.move_on_after(EXIT_NEWS_S):
                await self.process.exited.wait()
            now_s = (self.process.exit.cpu_s if self.process.exit else 0.0) or self._last_cpu_s or began_s
        # A thread that has run without a pause is not on the account yet: nothing at all is never the truth, and must
        # not be the price either.
        return (now_s - began_s) * 1000 if now_s > began_s else min(taken_ms, TICK_MS)

    async def _greet(self, first_words: bytes) -> None:
        """Send the harness and its rehearsal, and wait until the process says that it is ready."""
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

    async def read(self, clock: RunClock) -> list[bytes]:
        """The next lines, at least one; none at all when the output is closed. TimeoutError when the time is up."""
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

    def _some_lines(self) -> list[bytes]:
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
        """By the clock and not by its silence: a process that keeps talking is looked at too."""
        now = anyio.current_time()
        if now >= self._watch_at:
            self._watch_at = now + WATCH_INTERVAL_S
            self._watch()

    async def _let_others_go_on(self, clock: RunClock) -> None:
        """A process that floods its output must hold up neither the clock nor the other tasks."""
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
        # A process that is being killed looks like that too, for a moment.
        self._headless_looks = self._headless_looks + 1 if look.is_headless else 0
        if self._headless_looks >= HEADLESS_LOOKS:
            raise RunFault(ExecutionError(ErrorType.CRASH, "The process ended its main thread and went on without it"))
        taken = private_bytes(self.process.pid) - self._private_bytes_at_start + look.kernel_bytes
        if taken > self._settings.max_memory_mb * MIB:
            message = f"The code used more than {self._settings.max_memory_mb} MB of memory"
            raise RunFault(ExecutionError(ErrorType.MEMORY, message))

    def _drain_stderr(self) -> None:
        """Take what is there, keep the first part: a process must neither block on it nor fill or hold up this one."""
        for _ in range(MAX_STDERR_READS):
            try:
                chunk = os.read(self.process.stderr, READ_BYTES)
            except BlockingIOError:
                return
            if not chunk:
                return
            self._stderr = (self._stderr + chunk)[:MAX_STDERR_BYTES]

    async def write(self, frame: bytes, deadline: float = math.inf) -> None:
        """Write one frame whole. Raises TimeoutError at the deadline."""
        await self.write_made(lambda: frame, deadline)

    async def write_made(self, make: Callable[[], bytes], deadline: float = math.inf) -> None:
        """Write a frame that is made when its turn has come: of many large ones, one lies in memory at a time."""
        async with self._writing:
            try:
                await write_all(self.process.stdin, make(), deadline)
            except OSError:
                return  # it is gone: the reader will say so

    async def obituary(self) -> ExecutionError:
        """What to say of a process whose output has closed."""
        await self._news_of_exit()
        status = self.process.exit.status if self.process.exit else None
        limit_mb = min(self._settings.max_memory_mb, self._settings.max_heap_mb)
        return died(status, self._stderr, had_much_memory=self.peak_memory_mb() > limit_mb / 2)

    async def _news_of_exit(self) -> None:
        with anyio.move_on_after(EXIT_NEWS_S):
            await self.process.exited.wait()
        self._drain_stderr()
