"""One process, one run: hand over the code, listen until it is done, and never longer than it may take."""

from __future__ import annotations

import math
import os
import select
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc
import anyio.lowlevel

from .contracts import ErrorType, ExecutionError, LogEntry
from .diagnostics import diagnose, died
from .errors import MalformedFrame, RunFault, SandboxUnavailable
from .frames import (
    PROTOCOL,
    CutResult,
    Debug,
    Failure,
    FrameReader,
    GuestFrame,
    Output,
    Ready,
    Result,
    ToolCall,
    decode,
    encode,
    rehearse_frame,
)
from .memory import MIB, PeakMemory, private_bytes
from .readiness import readable_before

if TYPE_CHECKING:
    from .bridge import Bridge
    from .process import Spawner, WorkerProcess
    from .settings import SandboxSettings

# What a process does before it is ready, so that the first real run is not its first: once in each language. It is
# left out when somebody is waiting already, because it takes longer than it saves.
FULL_REHEARSAL = rehearse_frame("return context", "const one: number = 1; return one")
NO_REHEARSAL = rehearse_frame()

READ_BYTES = 64 * 1024
MAX_STDERR_BYTES = 16 * 1024
# How often a run is looked at while it says nothing: its memory, and what it wrote to stderr.
WATCH_INTERVAL_S = 0.05
# How long the exit status of a process may take to arrive after its output has closed.
EXIT_NEWS_S = 1.0


@dataclass(slots=True)
class Run:
    """What is known of a run, from its start to whatever end it has. Logs survive a failure."""

    code: str
    frame: bytes
    timeout_ms: int
    bridge: Bridge
    logs: list[LogEntry] = field(default_factory=list)
    output_bytes: int = 0
    waits_for_nothing: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, as a value or, when it was too long, as the beginning of its text and its whole size."""

    value: Any
    original_bytes: int | None = None


class Worker:
    def __init__(self, process: WorkerProcess, settings: SandboxSettings, ready_at: float) -> None:
        self.process = process
        self.ready_at = ready_at
        self._settings = settings
        self._frames = FrameReader(settings.max_frame_bytes)
        self._stderr = b""
        self._private_bytes_at_start = 0
        self._peak = PeakMemory(None)
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
                worker._private_bytes_at_start = private_bytes(process.pid)
                worker._peak = PeakMemory(process.pid)
                await spawner.limit_memory(process, settings.max_memory_mb * MIB)
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
        return worker

    def is_waiting(self) -> bool:
        """True while the process is alive and has said nothing since it was ready."""
        if self.process.exit is not None:
            return False
        poll = select.poll()
        poll.register(self.process.stdout, select.POLLIN)
        return not poll.poll(0)

    def discard(self, spawner: Spawner) -> None:
        """Kill the process and let go of its pipes. Returns at once."""
        spawner.kill(self.process)
        self.process.close_pipes()
        self._peak.close()

    def peak_memory_mb(self) -> float:
        if self.process.exit is not None and self.process.exit.peak_memory_mb:
            return self.process.exit.peak_memory_mb
        return self._peak.read_mb()

    async def run(self, run: Run) -> Answer:
        """Run the code. Raises RunFault for every end but a result; its tool calls end with it in any case."""
        deadline = anyio.current_time() + run.timeout_ms / 1000
        async with AsyncExitStack() as calls:
            # Caught inside: a task group would wrap what passes through it.
            try:
                await self._write(lambda: run.frame, deadline)
                ended: Answer | RunFault = await self._listen(run, deadline, calls)
            except RunFault as fault:
                ended = fault
            except TimeoutError:
                why = " It was waiting for a promise that nothing will settle." if run.waits_for_nothing else ""
                ended = RunFault(ErrorType.TIMEOUT, f"Code exceeded {run.timeout_ms}ms limit.{why}")
        if isinstance(ended, RunFault):
            raise ended
        return ended

    async def _greet(self, first_words: bytes) -> None:
        """Send the harness and its rehearsal, and wait until the process says that it is ready."""
        await self._write(lambda: first_words)
        while lines := await self._read(math.inf):
            for line in lines:
                match decode(line):
                    case Ready(protocol) if protocol == PROTOCOL:
                        return
                    case Result():
                        continue
                    case other:
                        raise SandboxUnavailable(f"Cannot use this Deno: its harness said {other!r}")
        raise SandboxUnavailable(await self._why_not_ready())

    async def _why_not_ready(self) -> str:
        await self._news_of_exit()
        lines = self._stderr.decode(errors="replace").strip().splitlines()
        said = lines[0][:300] if lines else "it ended without a word"
        return said if said.startswith("Cannot start") else f"Cannot start Deno: {said}"

    async def _listen(self, run: Run, deadline: float, calls: AsyncExitStack) -> Answer:
        tasks: anyio.abc.TaskGroup | None = None
        while lines := await self._read(deadline):
            called = False
            for line in lines:
                match _decoded(line):
                    case Result(value):
                        return self._result(value, len(line))
                    case CutResult(text, original_bytes):
                        return self._cut(text, original_bytes)
                    case Failure() as failure:
                        raise _fault(diagnose(failure, run.code, run.bridge.places()))
                    case ToolCall() as call:
                        run.bridge.count()
                        if tasks is None:
                            tasks = await self._open_tasks(calls)
                        tasks.start_soon(run.bridge.answer, call, self._write)
                        called = True
                    case Output(level, data):
                        self._count_output(run, len(line))
                        run.logs.append(LogEntry(level, data))
                    case Debug(message):
                        self._count_output(run, len(line))
                        run.waits_for_nothing = run.waits_for_nothing or message == "idle"
                    case Ready():
                        raise RunFault(ErrorType.CRASH, "The process sent a second ready frame")
            if called:
                await anyio.lowlevel.checkpoint()  # a tool that need not wait answers before this goes to wait
        raise _fault(await self._obituary())

    async def _open_tasks(self, calls: AsyncExitStack) -> anyio.abc.TaskGroup:
        """A place for tool calls to run in, made when the first one comes: most runs need none."""
        tasks = await calls.enter_async_context(anyio.create_task_group())
        calls.callback(tasks.cancel_scope.cancel)
        return tasks

    def _count_output(self, run: Run, more: int) -> None:
        run.output_bytes += more
        if run.output_bytes > self._settings.max_output_bytes:
            raise RunFault(ErrorType.LIMIT, f"Output exceeds {self._settings.max_output_bytes} bytes")

    def _result(self, value: Any, line_bytes: int) -> Answer:
        # The guest cuts what is too long; a guest that does not is held to it here.
        if line_bytes > self._settings.max_result_bytes:
            text = encode(value)
            if len(text) > self._settings.max_result_bytes:
                return self._cut(text.decode(), len(text))
        return Answer(value)

    def _cut(self, text: str, original_bytes: int) -> Answer:
        limit = self._settings.max_result_bytes
        mark = f"… [truncated: {original_bytes} bytes in all]"
        kept = text.encode()[: max(0, limit - len(mark.encode()))].decode(errors="ignore")
        return Answer(kept + mark, original_bytes)

    async def _read(self, deadline: float) -> list[bytes]:
        """The next lines, at least one; none at all when the output is closed. Raises TimeoutError at the deadline."""
        while True:
            try:
                chunk = os.read(self.process.stdout, READ_BYTES)
            except BlockingIOError:
                await self._wait_readable(deadline)
                continue
            if not chunk:
                return []
            if len(chunk) == READ_BYTES:
                await self._let_others_go_on(deadline)
            try:
                lines = list(self._frames.feed(chunk))
            except MalformedFrame as error:
                raise RunFault(ErrorType.LIMIT, f"The process sent {error}") from error
            if lines:
                return lines

    async def _wait_readable(self, deadline: float) -> None:
        now = anyio.current_time()
        if await readable_before(self.process.stdout, min(deadline, now + WATCH_INTERVAL_S)):
            return
        if anyio.current_time() >= deadline:
            raise TimeoutError
        self._watch()

    async def _let_others_go_on(self, deadline: float) -> None:
        """A process that floods its output must hold up neither the clock nor the other tasks."""
        await anyio.lowlevel.checkpoint()
        if anyio.current_time() >= deadline:
            raise TimeoutError

    def _watch(self) -> None:
        self._drain_stderr()
        taken = private_bytes(self.process.pid) - self._private_bytes_at_start
        if taken > self._settings.max_memory_mb * MIB:
            raise RunFault(ErrorType.MEMORY, f"The code used more than {self._settings.max_memory_mb} MB of memory")

    def _drain_stderr(self) -> None:
        """Take what is there, keep the first part: a process must not block on it, nor fill this one."""
        try:
            while chunk := os.read(self.process.stderr, READ_BYTES):
                self._stderr = (self._stderr + chunk)[:MAX_STDERR_BYTES]
        except BlockingIOError:
            pass

    async def _write(self, make: Callable[[], bytes], deadline: float = math.inf) -> None:
        """Write one frame whole. It is made when its turn has come: only one lies in memory at a time."""
        async with self._writing:
            data = memoryview(make())
            while data:
                try:
                    data = data[os.write(self.process.stdin, data) :]
                except BlockingIOError:
                    with anyio.fail_after(deadline - anyio.current_time()):
                        await anyio.wait_writable(self.process.stdin)
                except OSError:
                    return  # it is gone: the reader will say so

    async def _obituary(self) -> ExecutionError:
        await self._news_of_exit()
        status = self.process.exit.status if self.process.exit else None
        limit_mb = min(self._settings.max_memory_mb, self._settings.max_heap_mb)
        return died(status, self._stderr, had_much_memory=self.peak_memory_mb() > limit_mb / 2)

    async def _news_of_exit(self) -> None:
        with anyio.move_on_after(EXIT_NEWS_S):
            await self.process.exited.wait()
        self._drain_stderr()


def _decoded(line: bytes) -> GuestFrame:
    try:
        return decode(line)
    except MalformedFrame as error:
        raise RunFault(ErrorType.CRASH, f"The process sent {error}") from error


def _fault(error: ExecutionError) -> RunFault:
    return RunFault(error.type, error.message, error.stack)
