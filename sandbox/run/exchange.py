"""The host's side of one run: sends the code, reads frames until the run is done, and answers its calls meanwhile."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc

from ..contracts import (
    Abort,
    Answered,
    Call,
    CutResult,
    Debug,
    DisplayCall,
    Displayed,
    ErrorType,
    ExecutionError,
    Failed,
    Failure,
    Fetch,
    FileCall,
    GuestFrame,
    Line,
    LogEntry,
    MalformedFrame,
    NoValue,
    Output,
    Ready,
    Result,
    RunFault,
    StoreCall,
    Tier,
    ToolCall,
    Varied,
    decode,
    displayed,
    encode,
    weight_of,
)
from .diagnostics import WrittenAt, as_it_is, diagnose, with_slip
from .run_clock import RunClock

if TYPE_CHECKING:
    from ..ports import SandboxSettings
    from .bridge import Bridge
    from .worker import Worker


log = logging.getLogger("motor_cortex.sandbox")

# Limits on a run's unanswered calls: their number, and the memory that they hold.
MAX_UNANSWERED_CALLS = 1_000
MAX_UNANSWERED_BYTES = 32 * 1024 * 1024


@dataclass(slots=True)
class Run:
    """The state of one run, from its start to its end. Logs survive a failure."""

    code: str
    frame: bytes
    timeout_ms: int
    bridge: Bridge
    tier: Tier = Tier.ISOLATED
    max_memory_mb: int | None = None
    """Lowers the memory limit for this run; None leaves it as the settings say."""
    logs: list[LogEntry] = field(default_factory=list)
    output_bytes: int = 0
    waits_for_nothing: bool = False
    has_varied: bool = False
    """The code used something that can differ the next time: the clock, randomness or the host."""
    has_answered: bool = False
    """The code has ended by itself, with a result or an error of its own."""
    written_at: WrittenAt = as_it_is
    """Leads from a position in the code that is run to one in `code`, as the author wrote it."""
    displays: list[Displayed] = field(default_factory=list)
    displayed_bytes: int = 0


@dataclass(slots=True, eq=False)
class Heard:
    """A call that has no answer yet."""

    call: Call
    weight: int
    """Estimated bytes of memory."""
    scope: anyio.CancelScope | None
    """Cancels the work on it, for a fetch, which the code may abort; else None."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A result: its value or, when it was too long, the beginning of its text and its full size."""

    value: Any
    original_bytes: int | None = None
    has_value: bool = True


class RunExchange:
    """The exchange of frames of one run.

    One task always reads. A task that reads a call passes the reading on to another task and answers the call itself,
    at once: a slow tool does not delay the reading of the next frame, and a quick one is answered without waiting for
    another task to be scheduled.
    """

    def __init__(self, worker: Worker, run: Run, settings: SandboxSettings) -> None:
        self._worker = worker
        self._run = run
        self._settings = settings
        self._began = time.perf_counter()
        self._clock = RunClock(anyio.current_time() + run.timeout_ms / 1000, computed_s=worker.computed_s)
        self._ended: Answer | RunFault | None = None
        self._listening = anyio.Lock(fast_acquire=True)
        self._waiting_to_listen = 0
        self._unanswered: set[Heard] = set()
        self._unanswered_bytes = 0
        self._line: Line = b""
        self._fetches: dict[str, anyio.CancelScope] = {}

    async def hold(self) -> Answer:
        """Run the code and return its result. Raises RunFault for every other end; the run's calls end with it."""
        calls = await self._begin()
        if calls:
            async with anyio.create_task_group() as tasks:
                await self._take_turns(tasks, calls)
        match self._ended:
            case Answer() as answer:
                return answer
            case RunFault() as fault:
                raise fault
            case None:
                raise AssertionError("a run ended without an end")

    async def _begin(self) -> list[Heard]:
        self._worker.begin_watch()
        try:
            await self._worker.write(self._run.frame, self._clock.deadline)
        except TimeoutError:
            self._ended = self._timeout()
            return []
        return await self._listen()

    async def _take_turns(self, tasks: anyio.abc.TaskGroup, calls: list[Heard]) -> None:
        """Answer calls and read frames, in turns with other tasks, until the run has ended. For example:

        1. Task A has read a call of a slow tool. No task waits to read, so A starts task B, and then answers the call.
        2. B reads a second call. No task waits to read, so B starts task C, and then answers the second call.
        3. B has its answer first, and waits while C reads. When C reads a call, B reads on: no new task is started.
        """
        while self._ended is None:
            if calls:
                if self._waiting_to_listen == 0:
                    tasks.start_soon(self._take_turns, tasks, [])
                for call in calls[1:]:
                    tasks.start_soon(self._answer, call)
                await self._answer(calls[0])
            calls = await self._listen_in_turn()
        self._end_calls(tasks)

    def _end_calls(self, tasks: anyio.abc.TaskGroup) -> None:
        if self._unanswered:
            tasks.cancel_scope.cancel()

    async def _answer(self, heard: Heard) -> None:
        try:
            if self._ended is None:
                await self._run.bridge.answer(heard.call, self._worker.write_made, self._clock, heard.scope)
        finally:
            self._unanswered.discard(heard)
            self._unanswered_bytes -= heard.weight
            self._fetches.pop(heard.call.call_id, None)

    async def _listen_in_turn(self) -> list[Heard]:
        self._waiting_to_listen += 1
        try:
            await self._listening.acquire()
        finally:
            self._waiting_to_listen -= 1
        try:
            return await self._listen()
        finally:
            self._listening.release()

    async def _listen(self) -> list[Heard]:
        """Read frames until some are calls, and return those; an empty list when the run has ended."""
        calls: list[Heard] = []
        try:
            while not calls and self._ended is None:
                lines = await self._worker.read(self._clock)
                if not lines:
                    raise RunFault(await self._worker.obituary())
                for line in lines:
                    self._hear(line, calls)
        except RunFault as fault:
            self._ended = fault
        except TimeoutError:
            self._ended = self._timeout()
        except Exception:  # the last line of defence: no frame of the process may raise in the host
            log.exception("A frame could not be handled")
            self._ended = run_fault(ErrorType.CRASH, "The process sent a frame that could not be handled")
        return calls if self._ended is None else []

    def _hear(self, line: Line, calls: list[Heard]) -> None:
        if self._ended is not None:
            return  # the first end counts; later frames are ignored
        self._line = line
        self._take(_decoded(line, self._run.code), len(line), calls)

    def _take(self, frame: GuestFrame, size: int, calls: list[Heard]) -> None:
        match frame:
            case ToolCall() | Fetch() | FileCall() | StoreCall() as call:
                self._run.bridge.count(call)
                self._run.has_varied = True  # the host's answer may differ the next time
                calls.append(self._note(call))
            case Abort(call_id):
                self._count_output(size)
                self._give_up(call_id)
            case Result(value):
                self._run.has_answered = True
                self._ended = self._whole(value, size)
            case NoValue():
                self._run.has_answered = True
                self._ended = Answer(None, has_value=False)
            case CutResult(text, original_bytes):
                self._run.has_answered = True
                self._ended = self._cut(text, original_bytes)
            case Failure() as failure:
                self._run.has_answered = True
                raise RunFault(self._diagnosis(failure))
            case Output(level, data):
                self._count_output(size)
                at_ms = round((time.perf_counter() - self._began) * 1000, 3)
                self._run.logs.append(LogEntry(level, data, at_ms))
            case DisplayCall() as call:
                self._display(call)
            case Debug(message):
                self._count_output(size)
                self._run.waits_for_nothing |= message == "idle"
            case Varied():
                self._count_output(size)
                self._run.has_varied = True
            case Ready():
                raise run_fault(ErrorType.CRASH, "The process sent a second ready frame")
            case Answered() | Failed():
                raise run_fault(ErrorType.CRASH, "The process answered a signal that it was not given")

    def _display(self, call: DisplayCall) -> None:
        # The harness refuses too many and too large ones with an error that the code may catch; this ends a run that
        # goes past the harness.
        run, settings = self._run, self._settings
        if len(run.displays) >= settings.max_displays:
            raise run_fault(ErrorType.LIMIT, f"More than {settings.max_displays} displays")
        try:
            shown = displayed(call)
        except MalformedFrame as error:
            raise run_fault(ErrorType.CRASH, f"The process sent {error}") from error
        run.displayed_bytes += len(shown.data)
        if run.displayed_bytes > settings.max_displayed_bytes:
            raise run_fault(ErrorType.LIMIT, f"More than {settings.max_displayed_bytes} bytes displayed")
        run.displays.append(shown)
        run.has_varied = True  # a result from the cache would show nothing

    def _note(self, call: Call) -> Heard:
        heard = Heard(call, weight_of(self._line), anyio.CancelScope() if isinstance(call, Fetch) else None)
        self._unanswered.add(heard)
        self._unanswered_bytes += heard.weight
        if len(self._unanswered) > MAX_UNANSWERED_CALLS:
            raise run_fault(ErrorType.LIMIT, f"More than {MAX_UNANSWERED_CALLS} calls wait for an answer")
        if self._unanswered_bytes > MAX_UNANSWERED_BYTES:
            raise run_fault(ErrorType.LIMIT, "The calls that wait for an answer are too large together")
        if heard.scope is not None:
            self._fetches[call.call_id] = heard.scope
        return heard

    def _give_up(self, call_id: str) -> None:
        if call_id in self._fetches:
            self._fetches[call_id].cancel()

    def _diagnosis(self, failure: Failure) -> ExecutionError:
        run = self._run
        return diagnose(
            failure,
            run.code,
            run.bridge.places(),
            tier=run.tier,
            workspace=run.bridge.has_files,
            written_at=run.written_at,
        )

    def _count_output(self, more: int) -> None:
        self._run.output_bytes += more
        if self._run.output_bytes > self._settings.max_output_bytes:
            raise run_fault(ErrorType.LIMIT, f"Output exceeds {self._settings.max_output_bytes} bytes")

    def _whole(self, value: Any, line_bytes: int) -> Answer:
        # The harness cuts a result that is too long; if it was tampered with, the result is cut here.
        if line_bytes > self._settings.max_result_bytes:
            text = encode(value)
            if len(text) > self._settings.max_result_bytes:
                return self._cut(text.decode(), len(text))
        return Answer(value)

    def _cut(self, text: str, original_bytes: int) -> Answer:
        mark = f"… [truncated: {original_bytes} bytes in all; return less, for example rows.slice(0, 20)]"
        room = max(0, self._settings.max_result_bytes - len(mark.encode()))
        return Answer(text.encode()[:room].decode(errors="ignore") + mark, original_bytes)

    def _timeout(self) -> RunFault:
        why = " It was waiting for a promise that nothing will settle." if self._run.waits_for_nothing else ""
        return run_fault(ErrorType.TIMEOUT, f"Code exceeded {self._run.timeout_ms}ms limit.{why}")


def _decoded(line: Line, code: str) -> GuestFrame:
    try:
        return decode(line)
    except MalformedFrame as error:
        # Perhaps the code wrote to `process.stdout`.
        raise RunFault(with_slip(ExecutionError(ErrorType.CRASH, f"The process sent {error}"), code)) from error


def run_fault(type_: ErrorType, message: str) -> RunFault:
    return RunFault(ExecutionError(type_, message))
