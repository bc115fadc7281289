"""The learned functions of a home, as any process on it can call them.

A call finds its function in a view that is at most MAX_AGE_S old, asks the kill switch and the energy, and goes to the
function's process. Everything else happens beside it: documents are read, and counts are written, in a thread; what was
used is paid for by a task of its own.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import anyio
import anyio.abc
import anyio.to_thread

from sandbox import ErrorType, SandboxUnavailable, ToolError, Work

from ..autonomic import identity
from ..contracts import NeuronError, NotYet, program_of
from ..pipeline import rests_until
from .calling import FunctionAnswer, call_function, result_problem
from .function_accounts import FunctionAccounts
from .open_functions import OpenFunctions
from .resident_function import ResidentFunction

if TYPE_CHECKING:
    from sandbox import HostTools, NetworkPolicy, ResidentHost

    from ..contracts import Energy, Neuron, NeuronSettings, Skills
    from ..pipeline import Pipeline

log = logging.getLogger("motor_cortex")

LOOK_S = 0.5
"""How often the documents, the kill switch and idle processes are looked at, and counts are written."""
MAX_AGE_S = 1.0
"""A call never goes by a view of the documents that is older."""
LOOK_TIMEOUT_S = 5.0
CALL_TIMEOUT_S = 120.0
CLOSE_TIMEOUT_S = 5.0
MAX_MESSAGE = 500

_CODES = {ErrorType.TIMEOUT: "timeout", ErrorType.MEMORY: "internal", ErrorType.CRASH: "internal"}


class Functions:
    """Use it as an async context manager. `call` may be called from many tasks at the same time.

    `tools` and `network` are those that a function was approved for; `tools` raises SandboxUnavailable when one of them
    is missing here. `is_killed` is asked for everything (None) and for each function by id.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        hosts: ResidentHost,
        energy: Energy,
        settings: NeuronSettings,
        *,
        tools: Callable[[Neuron], HostTools | None] = lambda _: None,
        network: Callable[[Neuron], NetworkPolicy | None] = lambda _: None,
        is_killed: Callable[[str | None], bool] = lambda _: False,
        skills: Skills | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._pipeline = pipeline
        self._settings = settings
        self._is_killed = is_killed
        self._now = now
        self._accounts = FunctionAccounts(pipeline, energy, settings, skills=skills, now=now)
        self._known: tuple[Neuron, ...] = ()
        self._by_name: dict[str, Neuron] = {}
        self._stamp: object = object()
        self._looked_at = float("-inf")
        self._trouble = ""
        self._open = OpenFunctions(hosts, settings, tools, network)
        self._stack = AsyncExitStack()
        self._tasks: anyio.abc.TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._one_look = anyio.Lock()
        self._threads = anyio.CapacityLimiter(2)
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        self._tasks.start_soon(self._keep)
        self._tasks.start_soon(self._accounts.keep_paying)
        try:
            # A disk that hangs may delay the functions, but not the agent.
            with anyio.move_on_after(LOOK_TIMEOUT_S):
                await self._look()
        except NeuronError as error:
            self._report(f"Cannot look at learned functions: {error}")
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._tasks is None:
            return
        self._open.end_all()
        self._tasks.cancel_scope.cancel()
        self._tasks = None
        await self._stack.aclose()
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_TIMEOUT_S):
            await self._accounts.close()

    def known(self) -> tuple[Neuron, ...]:
        """The functions that can be called, as of the last look: the same object until something has changed."""
        return self._known

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Call the function of this name with arguments that fit its schema; return its result, which is JSON. Raises
        ToolError, and nothing else but a cancellation."""
        neuron = await self._current(name)
        self._require(neuron)
        began = anyio.current_time()
        assert self._tasks is not None
        one = await self._open.opened(neuron, self._tasks)
        one.calls += 1
        try:
            answer = await self._answered(one, arguments)
        except (SandboxUnavailable, NotYet, TimeoutError) as error:
            raise self._unavailable(neuron, error) from error
        except anyio.get_cancelled_exc_class():
            # Its process is killed, and its account with it: what it may have used is the time that it had.
            spent_ms = min((anyio.current_time() - began) * 1000, program_of(neuron, self._settings).timeout_ms)
            self._accounts.note(neuron, FunctionAnswer(None, None, Work(cpu_ms=spent_ms)), is_whole=False)
            raise
        finally:
            one.calls -= 1
            one.used_at = anyio.current_time()
        problem = None if not answer.ok else result_problem(neuron, answer.result)
        self._accounts.note(neuron, answer)
        if answer.is_fault:
            await self._settle_fault(neuron)
        if answer.error is not None:
            self._require(neuron)  # killed meanwhile: that is no fault of the function
            raise _error_of(neuron, answer)
        if problem is not None:
            message = f'Function "{neuron.function_name}" returned what it did not promise: {problem[:MAX_MESSAGE]}'
            raise ToolError(message, code="invalid_result")
        return answer.result

    async def look(self) -> None:
        """Write what is counted, and read the documents now."""
        await self._accounts.write()
        await self._look(again=True)

    # What may be called

    async def _current(self, name: str) -> Neuron:
        if self._tasks is None:
            raise ToolError("Learned functions are not open here", code="unavailable")
        if anyio.current_time() - self._looked_at > MAX_AGE_S:
            await self._look_now()
        neuron = self._by_name.get(name)
        if neuron is None:
            raise ToolError(self._why_unknown(name), code="not_found")
        return neuron

    async def _look_now(self) -> None:
        """Look, because the view is too old. Raises ToolError when that fails: what is not verified is not called."""
        try:
            with anyio.fail_after(LOOK_TIMEOUT_S):
                await self._look()
        except (NeuronError, TimeoutError) as error:
            why = str(error) or "the disk does not answer"
            message = f"Cannot verify learned functions: {why}"
            raise ToolError(message, code="unavailable", retryable=True) from error

    def _why_unknown(self, name: str) -> str:
        known = ", ".join(self._by_name)[:MAX_MESSAGE] or "none"
        return f'There is no learned function "{name[:80]}" that is in trial or active; there are: {known}'

    def _require(self, neuron: Neuron) -> None:
        """Raise ToolError while the function may not run."""
        if self._is_killed(neuron.id):
            raise ToolError(f'Function "{neuron.function_name}" is stopped by the kill switch', code="denied")
        now = self._now()
        if (until := rests_until(neuron, now, self._settings.trial)) is not None:
            message = (
                f'Function "{neuron.function_name}" rests for {math.ceil((until - now) / 60)} min: too many of its '
                "calls within an hour hung, crashed or cost more than its budget. Call it with less"
            )
            raise ToolError(message, code="unavailable", retryable=True)
        left = self._accounts.left()
        if left is None:
            why = self._accounts.energy.trouble or "the level of energy is not known"
            raise ToolError(f"Cannot pay for a function: {why}", code="unavailable", retryable=True)
        lowest = max(self._settings.autonomic.rest_below, neuron.energy_budget)
        if left < lowest:
            message = f"Energy is at {max(left, 0):.2f}, and learned functions rest below {lowest:.2f}"
            raise ToolError(message, code="no_energy", retryable=True)

    def _unavailable(self, neuron: Neuron, error: Exception) -> ToolError:
        if self._is_killed(neuron.id):
            return ToolError(f'Function "{neuron.function_name}" is stopped by the kill switch', code="denied")
        why = str(error)[:MAX_MESSAGE] or type(error).__name__
        message = f'Function "{neuron.function_name}" cannot run now: {why}'
        return ToolError(message, code="unavailable", retryable=True)

    async def _answered(self, one: ResidentFunction, arguments: Mapping[str, Any]) -> FunctionAnswer:
        # The sandbox has its own timeout for each call: this one catches a sandbox that hangs, and a long line.
        with anyio.fail_after(CALL_TIMEOUT_S):
            return await call_function(await one.resident(), arguments)

    async def _settle_fault(self, neuron: Neuron) -> None:
        """Write it now: after one fault too many the function rests before its caller can go on."""
        if not self._is_killed(neuron.id):
            await self.look()

    # Looking

    async def _keep(self) -> None:
        while True:
            await anyio.sleep(LOOK_S)
            try:
                await self._accounts.write()
                await self._look()
                self._open.end_idle()
            except Exception as error:  # noqa: BLE001 - no mistake here may end the agent; it is tried again
                self._report(f"Cannot look at learned functions: {error}")

    async def _look(self, *, again: bool = False) -> None:
        async with self._one_look:
            began = anyio.current_time()
            # What an abandoned thread finds later is not taken over: the next look reads again.
            read = partial(self._read, object() if again else self._stamp)
            stamp, level, found = await anyio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=self._threads)
            self._accounts.energy.level = level
            if found is not None:
                self._adopt(found)
            self._stamp, self._looked_at = stamp, began
            self._open.end_where(lambda one: one.is_ended or self._is_killed(one.neuron.id))

    def _read(self, known: object) -> tuple[object, float | None, tuple[Neuron, ...] | None]:
        """The stamp, the level of energy, and the verified functions; None when no document has changed."""
        level = self._accounts.energy.read()
        # Read before the documents: what is written while they are being read is found at the next look.
        stamp = self._pipeline.store.stamp()
        return stamp, level, None if stamp == known else tuple(self._pipeline.functions())

    def _adopt(self, functions: tuple[Neuron, ...]) -> None:
        identities = {neuron.id: identity(neuron) for neuron in functions}
        if identities != {neuron.id: identity(neuron) for neuron in self._known}:
            self._known = functions
        # With what was counted lately. The first of two of one name is the older one: a later one does not take its
        # place.
        self._by_name = {neuron.function_name: neuron for neuron in reversed(functions)}
        self._open.end_where(lambda one: identities.get(one.neuron.id) != one.identity)

    def _report(self, trouble: str) -> None:
        if trouble != self._trouble:
            log.warning("%s", trouble)
        self._trouble = trouble


def _error_of(neuron: Neuron, answer: FunctionAnswer) -> ToolError:
    assert answer.error is not None
    error = answer.error
    said = " ".join(error.message[: 2 * MAX_MESSAGE].split())[:MAX_MESSAGE]
    message = f'Function "{neuron.function_name}" failed: {said}'
    return ToolError(message, code=_CODES.get(error.type, "failed"))
