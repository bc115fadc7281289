"""Delivers one batch of signals to a resident process: sends them, takes the answers in order, serves calls meanwhile.

Each signal is a run of its own: its clock, its counts and its calls begin with it and end with its answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc

from ..contracts import (
    Answered,
    Call,
    CutResult,
    ErrorType,
    ExecutionError,
    Failed,
    Failure,
    FileCall,
    GuestFrame,
    LogEntry,
    Output,
    Result,
    RunFault,
    SignalAnswer,
    ToolCall,
    encode,
    signals_frame,
    tool_error_frame,
)
from ..run import Answer, Heard, Run, RunClock, RunExchange, diagnose, run_fault
from .spent import Spent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..contracts import ResidentProgram
    from ..ports import SandboxSettings
    from ..run import Bridge, Worker

# The allowed types of emitted signals. `deno/outbox.ts` checks the same for honest code.
_TYPE = re.compile(r"[a-z][a-z0-9_.]{0,63}")
# Once all signals are answered, how long to wait for a process that does not read the answers to its calls.
LAST_WORDS_S = 1.0
# An answer to no call: it ends a read that the process has begun and cannot cancel.
_WAKE = tool_error_frame("0", "The signal has ended", "ended", retryable=False)
# Logs kept of all signals of a batch together: each signal may print far more.
MAX_KEPT_LOG_BYTES = 64 * 1024
MAX_NOTED_TOOLS = 100
# More than any batch computes: a number without end is no amount.
MOST_CPU_US = 10**12
MAX_NOTED_OPERATIONS = 20
# Of all signals of a batch together: a megabyte of text can become fifty of objects. The first signal that emits has
# only its own limits.
MAX_EMITTED_BYTES = 1024 * 1024


class Batch(RunExchange):
    """The exchange of frames for one batch of signals with a resident process."""

    def __init__(
        self, worker: Worker, program: ResidentProgram, bridge: Bridge, settings: SandboxSettings, signals: int
    ) -> None:
        super().__init__(worker, Run(program.code, b"", program.timeout_ms, bridge, program.tier), settings)
        self._program = program
        self._bridge = bridge
        self._signals = signals
        self._scopes: dict[Heard, anyio.CancelScope] = {}
        self._tasks: anyio.abc.TaskGroup | None = None
        self._has_forgotten = False
        self.emitted_bytes = self.kept_log_bytes = 0
        """The counts of all signals so far. When the rest of a batch continues in a new process, they continue too."""
        self.answers: list[SignalAnswer] = []
        """The answers so far, in order. A RunFault from `deliver` is about the next signal, if there is one."""
        self.spent: list[Spent] = []
        """What each of the answers took."""
        self.state: dict[str, Any] | None = None
        """The newest state that came; None while it is unchanged."""
        self.tool_calls = self.fetches = self.fetched_bytes = 0
        self.tools: dict[str, None] = {}
        self.files: dict[str, None] = {}

    @property
    def logs(self) -> list[LogEntry]:
        return self._run.logs

    async def deliver(self, number: int, state_json: bytes, signals_json: Sequence[bytes]) -> None:
        """Send all signals and wait for their answers. Raises RunFault when the process can no longer be used."""
        self._run.frame = signals_frame(number, state_json, signals_json)
        self._number = number
        try:
            await self.hold()
            if self._tasks is not None and self._tasks.cancel_scope.cancel_called:
                raise run_fault(ErrorType.CRASH, "The process did not read what it had asked for")
            if self._has_forgotten:
                await self._wake()
        finally:
            self._end_signal()

    async def _wake(self) -> None:
        try:
            await self._worker.write(_WAKE, anyio.current_time() + LAST_WORDS_S)
        except TimeoutError as error:
            raise run_fault(ErrorType.CRASH, "The process did not read what it had asked for") from error

    def _take(self, frame: GuestFrame, size: int, calls: list[Heard]) -> None:
        match frame:
            case Answered(batch, at, cpu_us):
                self._check_place(batch, at)
                self._answered(self._checked(frame, size), cpu_us)
                if frame.state is not None:
                    self.state = frame.state
                self._next()
            case Failed(batch, at, cpu_us, phase, name, message, stack):
                self._check_place(batch, at)
                error = self._diagnosis(Failure(phase, name, message, stack))
                if error.type is ErrorType.MEMORY:
                    raise RunFault(error)  # the memory that it still holds would fail the next signals, too
                self._answered(SignalAnswer(ok=False, error=error), cpu_us)
                self._next()
            case Result() | CutResult() | Failure():
                raise run_fault(ErrorType.CRASH, "The process ended as if its code had been run once")
            case Output(level, data):
                self._count_output(size)
                self._keep_log(LogEntry(level, data), size)
            case _:
                super()._take(frame, size, calls)

    def _answered(self, answer: SignalAnswer, cpu_us: int) -> None:
        self.answers.append(answer)
        network = self._bridge.network
        requests, received = (network.requests, network.received_bytes) if network is not None else (0, 0)
        self.spent.append(Spent(min(max(0, cpu_us), MOST_CPU_US) / 1000, requests, received, self._bridge.calls))

    def fail(self, error: ExecutionError, cpu_ms: float) -> None:
        """Fail the signal that was being answered. What the answers do not explain of the batch was its work."""
        explained = [sum(column) for column in zip(*self.spent, strict=True)] or [0, 0, 0, 0]
        counted = (cpu_ms, self.fetches, self.fetched_bytes, self.tool_calls)
        cpu, *counts = (max(0, all_ - some) for all_, some in zip(counted, explained, strict=True))
        self.answers.append(SignalAnswer(ok=False, error=error))
        self.spent.append(Spent(cpu, *map(int, counts)))

    def _diagnosis(self, failure: Failure) -> ExecutionError:
        run, given = self._run, "args" if self._program.is_function else "signal, state, emit"
        return diagnose(failure, run.code, self._bridge.places(), tier=run.tier, given=given)

    def _check_place(self, batch: int, at: int) -> None:
        if (batch, at) != (self._number, len(self.answers)):
            raise run_fault(ErrorType.CRASH, "The process answered a signal that it was not given")

    def _checked(self, frame: Answered, size: int) -> SignalAnswer:
        """Check the limits of an answer. The harness has checked them already, but code may forge an answer."""
        limits = self._program
        if frame.state is not None and _is_longer(frame.state, limits.max_state_bytes, size):
            raise run_fault(ErrorType.LIMIT, f"Cannot keep state: it has more than {limits.max_state_bytes} bytes")
        if len(frame.emitted) > limits.max_emitted:
            raise run_fault(ErrorType.LIMIT, f"Cannot emit: one signal may emit at most {limits.max_emitted}")
        emitted = []
        for entry in frame.emitted:
            match entry:
                case [str(type_), data] if _TYPE.fullmatch(type_):
                    if _is_longer(data, limits.max_signal_bytes, size):
                        message = f'Cannot emit "{type_}": its data has more than {limits.max_signal_bytes} bytes'
                        raise run_fault(ErrorType.LIMIT, message)
                    emitted.append((type_, data))
                case _:
                    raise run_fault(ErrorType.CRASH, "The process emitted what is not a signal")
        if emitted:
            self._count_emitted(len(encode(frame.emitted)))
        return SignalAnswer(ok=True, emitted=tuple(emitted))

    def _count_emitted(self, more: int) -> None:
        if self.emitted_bytes and self.emitted_bytes + more > MAX_EMITTED_BYTES:
            most = f"{MAX_EMITTED_BYTES} bytes together"
            raise run_fault(ErrorType.LIMIT, f"Cannot emit: the signals of one batch may emit at most {most}")
        self.emitted_bytes += more

    def _next(self) -> None:
        self._end_signal()
        if len(self.answers) == self._signals:
            self._ended = Answer(None)
            return
        self._run.output_bytes = 0
        self._run.waits_for_nothing = False
        deadline = anyio.current_time() + self._program.timeout_ms / 1000
        self._clock = RunClock(deadline, computed_s=self._worker.computed_s)

    def _end_signal(self) -> None:
        """End a signal: cancel the calls it does not wait for, and add up what it cost."""
        for scope in self._scopes.values():
            scope.cancel()
            self._has_forgotten = True
        self._scopes.clear()
        self._unanswered.clear()
        self._unanswered_bytes = 0
        self._fetches.clear()
        self.tool_calls += self._bridge.calls
        if self._bridge.network is not None:
            self.fetches += self._bridge.network.requests
            self.fetched_bytes += self._bridge.network.received_bytes
        self._bridge.renew()

    def _keep_log(self, entry: LogEntry, size: int) -> None:
        room = MAX_KEPT_LOG_BYTES - self.kept_log_bytes
        if room <= 0:
            return
        self.kept_log_bytes += size
        self.logs.append(entry if size <= room else LogEntry("warn", "… [what was printed after this was not kept]"))

    # The methods below are about calls: a call is cancelled when its signal ends, not only when the exchange ends.

    def _note(self, call: Call) -> Heard:
        if isinstance(call, ToolCall) and len(self.tools) < MAX_NOTED_TOOLS:
            self.tools[call.name] = None
        if isinstance(call, FileCall) and len(self.files) < MAX_NOTED_OPERATIONS:
            self.files[call.operation] = None
        heard = super()._note(call)
        self._scopes[heard] = anyio.CancelScope()
        return heard

    async def _answer(self, heard: Heard) -> None:
        answers: list[Callable[[], bytes]] = []

        async def keep(make: Callable[[], bytes]) -> None:
            answers.append(make)

        scope = self._scopes.get(heard)
        if scope is None:
            return  # its signal has ended
        with scope:
            await self._bridge.answer(heard.call, keep, self._clock, heard.scope)
        if heard not in self._scopes:
            return
        # Outside of the scope: a cancellation could leave half a frame on the pipe, which would end the process.
        for make in answers:
            await self._worker.write_made(make)
        if self._scopes.pop(heard, None) is not None:
            self._unanswered.discard(heard)
            self._unanswered_bytes -= heard.weight
            self._fetches.pop(heard.call.call_id, None)

    def _end_calls(self, tasks: anyio.abc.TaskGroup) -> None:
        self._tasks = tasks
        if isinstance(self._ended, RunFault):
            tasks.cancel_scope.cancel()
        else:
            tasks.cancel_scope.deadline = anyio.current_time() + LAST_WORDS_S


def _is_longer(value: Any, max_bytes: int, line_bytes: int) -> bool:
    """Whether the value's JSON is longer than `max_bytes`. It is part of a line, so a line that is not longer needs no
    encoding. Lines are UTF-8, and so is the count."""
    return line_bytes > max_bytes and len(encode(value)) > max_bytes
