"""Runs a resident program in a process of its own, which answers one batch of signals after the other.

The process is behind the same wall as any other, but it is kept after its answer. It is replaced when it crashed, hung,
exceeded a limit, or wrote without being asked: the signal it was handling has then failed, and the rest of the batch
goes on in a fresh process.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc

from ..contracts import (
    BatchAnswer,
    ErrorType,
    ExecutionError,
    LogEntry,
    RunFault,
    SandboxUnavailable,
    SignalAnswer,
    Work,
    encode,
    mistake_in,
)
from ..run import Bridge, GrantRefused, Grants
from .batch import Batch
from .resident_process import ResidentProcess, Source
from .spent import charged, with_more

if TYPE_CHECKING:
    from ..contracts import ResidentProgram
    from ..network import NetworkPolicy
    from ..ports import HostTools, SandboxSettings
    from ..workspace import Transaction, Workspace

# Room for the parts of a signal beside its data: its type, its ids, its time.
ENVELOPE_BYTES = 1024
# Per batch: a program that crashes at each signal must not start one process per signal.
MAX_RESTARTS = 5


@asynccontextmanager
async def open_resident(
    program: ResidentProgram,
    settings: SandboxSettings,
    source: Source,
    tasks: anyio.abc.TaskGroup,
    tools: HostTools | None,
    network: NetworkPolicy,
    workspace: Workspace | None = None,
) -> AsyncIterator[DenoResident]:
    """Open a resident program. Raises SandboxUnavailable when no process is available, or a secret of the policy is
    missing."""
    try:
        # The grant's own transaction stands for all of them: each signal begins one that is its own.
        async with Grants(program.tier, network, workspace, settings.workspace) as grants:
            bridge = Bridge(tools, settings, grants.network, grants.files, refusal=source.running.refusal)
            process = ResidentProcess(program, settings, source, bridge)
            process.mistake = mistake_in(program.code, settings.max_code_bytes)
            tasks.start_soon(process.watch)
            try:
                if process.mistake is None:
                    with suppress(RunFault):  # the answers to the first batch will report it
                        await process.ready()
                yield DenoResident(program, settings, process, bridge, workspace)
            finally:
                process.close()
    except GrantRefused as error:
        raise SandboxUnavailable(str(error)) from error


@dataclass(slots=True)
class Delivery:
    """The progress of one batch: the answers so far, and what they cost."""

    signals: Sequence[Mapping[str, Any]]
    state: dict[str, Any]
    answers: list[SignalAnswer] = field(default_factory=list)
    cpu_ms: float = 0.0
    fetches: int = 0
    fetched_bytes: int = 0
    tool_calls: int = 0
    restarts: int = 0
    emitted_bytes: int = 0
    kept_log_bytes: int = 0
    tools: dict[str, None] = field(default_factory=dict)
    files: dict[str, None] = field(default_factory=dict)
    logs: list[LogEntry] = field(default_factory=list)

    @property
    def left(self) -> int:
        return len(self.signals) - len(self.answers)

    def take(self, batch: Batch) -> None:
        self.answers += batch.answers
        self.state = self.state if batch.state is None else batch.state
        self.fetches += batch.fetches
        self.fetched_bytes += batch.fetched_bytes
        self.tool_calls += batch.tool_calls
        self.emitted_bytes = batch.emitted_bytes
        self.kept_log_bytes = batch.kept_log_bytes
        self.tools |= batch.tools
        self.files |= batch.files
        self.logs += batch.logs

    def fail(self, error: ExecutionError, count: int = 1) -> None:
        self.answers += [SignalAnswer(ok=False, error=error)] * count


class DenoResident:
    """A resident program that is open; `handle` gives it signals."""

    def __init__(
        self,
        program: ResidentProgram,
        settings: SandboxSettings,
        process: ResidentProcess,
        bridge: Bridge,
        workspace: Workspace | None,
    ) -> None:
        self._program = program
        self._settings = settings
        self._process = process
        self._bridge = bridge
        self._workspace = workspace
        self._turn = anyio.Lock(fast_acquire=True)
        self._batches = 0

    async def handle(self, signals: Sequence[Mapping[str, Any]], state: Mapping[str, Any]) -> BatchAnswer:
        """Give it the signals, one after the other. Never raises for anything that its code does.

        Raises SandboxUnavailable when there is no process for the first signal. If there is none for a later one, the
        remaining signals have failed, and the earlier answers stay valid. While running is forbidden it raises
        NothingMayRun, whatever became of the batch. Raises ValueError for more than one signal at a time when there is
        a workspace: what a signal would change is the caller's to commit before the next one looks.
        """
        if self._workspace is not None and len(signals) > 1:
            raise ValueError("a program with a workspace is given one signal at a time")
        async with self._turn:
            began = anyio.current_time()
            delivery = Delivery(signals, dict(state))
            self._tell_losses(delivery)
            try:
                while delivery.left:
                    await self._go_on(delivery)
            except SandboxUnavailable as error:
                if not delivery.answers:
                    raise
                delivery.fail(ExecutionError(ErrorType.CRASH, str(error)), delivery.left)
            finally:
                self._process.rest()
            # If it was killed, raise: a kill is neither an answer nor a failure of the program.
            self._process.check()
            uncharged_ms = self._process.uncharged_cpu_ms()
            work = Work(
                ms=(anyio.current_time() - began) * 1000,
                cpu_ms=delivery.cpu_ms + uncharged_ms,
                fetches=delivery.fetches,
                fetched_bytes=delivery.fetched_bytes,
                tool_calls=delivery.tool_calls,
                restarts=delivery.restarts,
                hosts=self._hosts(),
                tools=tuple(delivery.tools),
                files=tuple(delivery.files),
                logs=tuple(delivery.logs),
            )
            return BatchAnswer(with_more(delivery.answers, uncharged_ms), delivery.state, work)

    def _tell_losses(self, delivery: Delivery) -> None:
        losses, self._process.losses = self._process.losses, []
        delivery.restarts += len(losses)
        delivery.logs += [LogEntry("warn", why) for why in losses]

    def _hosts(self) -> tuple[str, ...]:
        if self._bridge.network is None:
            return ()
        hosts = tuple(self._bridge.network.hosts)
        self._bridge.network.hosts.clear()
        return hosts

    async def _go_on(self, delivery: Delivery) -> None:
        """Advance the batch by one step, which answers at least one of its signals."""
        if self._process.mistake is not None:
            delivery.fail(self._process.mistake, delivery.left)
        elif delivery.restarts > MAX_RESTARTS:
            last = next((one.error for one in reversed(delivery.answers) if one.error is not None), None)
            why = f"It was not tried: the process had to be replaced {delivery.restarts} times"
            why = why if last is None else f"{why}, last because: {last.message}"
            delivery.fail(ExecutionError(ErrorType.CRASH if last is None else last.type, why), delivery.left)
        else:
            try:
                state_json = _encoded("state", delivery.state, self._program.max_state_bytes)
                signals_json = self._next_signals(delivery)
            except ValueError as error:
                delivery.fail(ExecutionError(ErrorType.LIMIT, str(error)))
                return
            await self._deliver(delivery, state_json, signals_json)

    def _next_signals(self, delivery: Delivery) -> list[bytes]:
        """Encode as many signals as can be sent at once. Raises ValueError when the first one cannot be sent."""
        most_bytes = self._program.max_signal_bytes + ENVELOPE_BYTES
        first = len(delivery.answers)
        signals_json: list[bytes] = []
        for signal in delivery.signals[first : first + self._process.most_at_once]:
            try:
                signals_json.append(_encoded("signal", signal, most_bytes))
            except ValueError:
                if not signals_json:
                    raise
                break  # its turn comes when the signals before it are answered
        return signals_json

    async def _deliver(self, delivery: Delivery, state_json: bytes, signals_json: list[bytes]) -> None:
        try:
            worker = await self._process.ready()
        except RunFault as error:
            delivery.restarts += self._process.mistake is None
            delivery.fail(error.error)
            return
        self._tell_losses(delivery)
        self._batches += 1
        batch = Batch(worker, self._program, self._bridge, self._settings, len(signals_json))
        batch.emitted_bytes = delivery.emitted_bytes
        batch.kept_log_bytes = delivery.kept_log_bytes
        began = anyio.current_time()
        fault: RunFault | None = None
        files = self._bridge.files = self._workspace.begin(self._settings.workspace) if self._workspace else None
        try:
            await batch.deliver(self._batches, state_json, signals_json)
        except RunFault as error:
            fault = error
            self._process.drop()
        except BaseException:
            self._process.drop()  # its state is unknown
            if files is not None:
                files.drop()
            raise
        if files is not None:
            _end_files(files, batch.answers)
        cpu_ms = await worker.cpu_ms((anyio.current_time() - began) * 1000)
        worker.begin_account()
        if fault is not None and len(batch.answers) < len(signals_json):
            batch.fail(fault.error, cpu_ms)
        batch.answers[:] = charged(batch.answers, batch.spent, cpu_ms)
        delivery.cpu_ms += cpu_ms
        delivery.take(batch)
        delivery.restarts += fault is not None


def _end_files(files: Transaction, answers: list[SignalAnswer]) -> None:
    """End the signal's use of files: its changes go with its answer, and of a signal that failed nothing is left."""
    if answers and answers[0].ok:
        answers[0] = replace(answers[0], changes=files.changes())
    else:
        files.drop()


def _encoded(what: str, value: Mapping[str, Any], max_bytes: int) -> bytes:
    try:
        text = encode(value)
    except ValueError as error:
        raise ValueError(f"Cannot hand in the {what}: {error}") from error
    if len(text) > max_bytes:
        raise ValueError(f"Cannot hand in the {what}: {len(text)} bytes are more than {max_bytes}")
    return text
