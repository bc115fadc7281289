"""One run from the host's side: hand over the code, listen until it is done, and answer its tool calls meanwhile."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc

from .contracts import ErrorType, ExecutionError, LogEntry
from .diagnostics import diagnose
from .errors import MalformedFrame, RunFault
from .frames import CutResult, Debug, Failure, GuestFrame, Output, Ready, Result, ToolCall, decode, encode

if TYPE_CHECKING:
    from .bridge import Bridge
    from .settings import SandboxSettings
    from .worker import Worker


log = logging.getLogger("motor_cortex.sandbox")

# What a run may have in unanswered tool calls, as so many frames of the largest size.
UNANSWERED_FRAMES = 4


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


class Conversation:
    """The frames of one run.

    Somebody always listens, and whoever hears a tool call hands the listening on and runs the call himself, at once:
    a slow tool keeps nobody from hearing the next frame, and a quick one is answered without waiting for another task
    to be scheduled.
    """

    def __init__(self, worker: Worker, run: Run, settings: SandboxSettings) -> None:
        self._worker = worker
        self._run = run
        self._settings = settings
        self._deadline = anyio.current_time() + run.timeout_ms / 1000
        self._ended: Answer | RunFault | None = None
        self._listening = anyio.Lock(fast_acquire=True)
        self._waiting_to_listen = 0
        # The size of each call that was heard and has no answer yet.
        self._unanswered: dict[int, int] = {}

    async def hold(self) -> Answer:
        """Run the code. Raises RunFault for every end but a result; its tool calls end with it in any case."""
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

    async def _begin(self) -> list[ToolCall]:
        self._worker.begin_watch()
        try:
            await self._worker.write(self._run.frame, self._deadline)
        except TimeoutError:
            self._ended = self._timeout()
            return []
        return await self._listen()

    async def _take_turns(self, tasks: anyio.abc.TaskGroup, calls: list[ToolCall]) -> None:
        while self._ended is None:
            if calls:
                if self._waiting_to_listen == 0:
                    tasks.start_soon(self._take_turns, tasks, [])
                for call in calls[1:]:
                    tasks.start_soon(self._answer, call)
                await self._answer(calls[0])
            calls = await self._listen_in_turn()
        if self._unanswered:
            tasks.cancel_scope.cancel()

    async def _answer(self, call: ToolCall) -> None:
        try:
            if self._ended is None:
                await self._run.bridge.answer(call, self._worker.write_made)
        finally:
            del self._unanswered[id(call)]

    async def _listen_in_turn(self) -> list[ToolCall]:
        self._waiting_to_listen += 1
        try:
            await self._listening.acquire()
        finally:
            self._waiting_to_listen -= 1
        try:
            return await self._listen()
        finally:
            self._listening.release()

    async def _listen(self) -> list[ToolCall]:
        """Take what the process says until it calls tools, and return the calls; none when the run has ended."""
        calls: list[ToolCall] = []
        try:
            while not calls and self._ended is None:
                lines = await self._worker.read(self._deadline)
                if not lines:
                    raise RunFault(await self._worker.obituary())
                for line in lines:
                    self._hear(line, calls)
        except RunFault as fault:
            self._ended = fault
        except TimeoutError:
            self._ended = self._timeout()
        except Exception:  # the last line of defence: what the process says must never be an exception of the host
            log.exception("A frame could not be handled")
            self._ended = _fault(ErrorType.CRASH, "The process sent a frame that could not be handled")
        return calls if self._ended is None else []

    def _hear(self, line: bytes, calls: list[ToolCall]) -> None:
        if self._ended is not None:
            return  # the first end counts, whatever comes after it
        match _decoded(line):
            case ToolCall() as call:
                self._run.bridge.count()
                self._unanswered[id(call)] = len(line)
                if sum(self._unanswered.values()) > UNANSWERED_FRAMES * self._settings.max_frame_bytes:
                    raise _fault(ErrorType.LIMIT, "The tool calls that wait for an answer are too large together")
                calls.append(call)
            case Result(value):
                self._ended = self._whole(value, len(line))
            case CutResult(text, original_bytes):
                self._ended = self._cut(text, original_bytes)
            case Failure() as failure:
                raise RunFault(diagnose(failure, self._run.code, self._run.bridge.places()))
            case Output(level, data):
                self._count_output(len(line))
                self._run.logs.append(LogEntry(level, data))
            case Debug(message):
                self._count_output(len(line))
                self._run.waits_for_nothing |= message == "idle"
            case Ready():
                raise _fault(ErrorType.CRASH, "The process sent a second ready frame")

    def _count_output(self, more: int) -> None:
        self._run.output_bytes += more
        if self._run.output_bytes > self._settings.max_output_bytes:
            raise _fault(ErrorType.LIMIT, f"Output exceeds {self._settings.max_output_bytes} bytes")

    def _whole(self, value: Any, line_bytes: int) -> Answer:
        # The guest cuts what is too long; a guest that does not is held to it here.
        if line_bytes > self._settings.max_result_bytes:
            text = encode(value)
            if len(text) > self._settings.max_result_bytes:
                return self._cut(text.decode(), len(text))
        return Answer(value)

    def _cut(self, text: str, original_bytes: int) -> Answer:
        mark = f"… [truncated: {original_bytes} bytes in all]"
        room = max(0, self._settings.max_result_bytes - len(mark.encode()))
        return Answer(text.encode()[:room].decode(errors="ignore") + mark, original_bytes)

    def _timeout(self) -> RunFault:
        why = " It was waiting for a promise that nothing will settle." if self._run.waits_for_nothing else ""
        return _fault(ErrorType.TIMEOUT, f"Code exceeded {self._run.timeout_ms}ms limit.{why}")


def _decoded(line: bytes) -> GuestFrame:
    try:
        return decode(line)
    except MalformedFrame as error:
        raise _fault(ErrorType.CRASH, f"The process sent {error}") from error


def _fault(type_: ErrorType, message: str) -> RunFault:
    return RunFault(ExecutionError(type_, message))
