"""One attempt at a task: code through the same heart as `core.execute`, a tool under the same policies and consent.

Every attempt is a turn of its own, named `run/task/attempt` in the audit and the ledger. What comes back is redacted
and fit to be saved.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import anyio
import anyio.to_thread
from pydantic_core import to_json

from cortex.audit import AuditError, code_hash
from cortex.catalogue import AbsentTool, Wish
from cortex.contracts import Refused, Trace, reason_of, weight_of_value
from cortex.energy import EnergyError
from cortex.text import beginning, off_loop, whole
from cortex.tools import is_core
from cortex.turn import HostFailed, NotRun, Ran, Turn, execute, intent_of
from sandbox import SandboxError, Tier, ToolError

from .attempt_energy import AttemptEnergy, Budget, key_of
from .journal import JournalError
from .journal_text import MAX_RESULT_BYTES, text_of, value_of
from .tasks import CodeExecutionTask, McpToolTask

if TYPE_CHECKING:
    from cortex.contracts import FilesChanged, RunCodeIntent, Watch
    from cortex.energy import Insufficient
    from cortex.redaction import Redactor
    from cortex.tools import UsableTool
    from cortex.turn import Executed, Folder, Services
    from sandbox import Changes

    from .kept_files import KeptFiles

log = logging.getLogger("motor_cortex")

MAX_MESSAGE_CHARACTERS = 2_000
_ON_LOOP_BYTES = 16_384
# Another attempt would end in the same way.
_FINAL_CODES = frozenset({"denied", "invalid_arguments", "not_found", "limit"})


@dataclass(slots=True)
class Proposal:
    """Changes of files that are kept until the checkpoint."""

    changes: Changes
    proposed: FilesChanged
    hash: str


@dataclass(frozen=True, slots=True)
class Attempted:
    """How an attempt ended."""

    status: Literal["ok", "failed", "pending"]
    """`pending`: nothing ran, because the energy was too low."""
    result: Any = None
    error: Mapping[str, Any] | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 0.0
    is_final: bool = False
    """Another attempt would be in vain."""
    lacking: Insufficient | None = None
    files: Proposal | None = None


def failed(kind: str, message: str, *, is_final: bool = False, **more: Any) -> Attempted:
    shown = beginning(whole(message), MAX_MESSAGE_CHARACTERS)
    return Attempted("failed", error={"type": kind, "message": shown}, is_final=is_final, **more)


@dataclass(frozen=True, slots=True)
class Attempts:
    """Makes attempts at the tasks of one run."""

    run: str
    name: str
    """The name of the plan, for the owner and the audit."""
    services: Services
    folders: Mapping[str, Folder]
    files: KeptFiles | None
    """Keeps changes of files until the checkpoint; None where there is none: they are committed at once."""
    budget: Budget
    watch: Watch | None = None
    is_repeated: bool = False
    """An earlier process led this run: it may have made this attempt."""
    since: float = 0.0
    """When the run began: an earlier one of the same id may have been forgotten."""

    async def code(self, task: CodeExecutionTask, context: dict[str, Any], attempt: int, *, again: bool) -> Attempted:
        """Run the code. `again`: this attempt was made before, and its energy is taken."""
        key = key_of(self.run, task.id, attempt)
        is_repeated = self.is_repeated or again
        metered = self.services.settings.energy.metered
        least = metered.floor if metered.enabled else math.inf
        about = {"least": least, "since": self.since}
        energy = AttemptEnergy(self.services.energy, key, self.budget, is_repeated=is_repeated, **about)
        services = replace(self.services, energy=energy, later=None)
        folder = None if task.workspace is None else self.folders.get(task.workspace)
        if task.workspace is not None and folder is None:
            return failed("Denied", f'no folder "{task.workspace[:60]}" is granted to workflows', is_final=True)
        if task.sandbox_config.allow_network and not services.settings.sandbox.network.allow:
            return failed("Denied", "this host allows no network", is_final=True)
        kept: list[Proposal] = []
        files = self.files

        async def keep(changes: Changes, proposed: FilesChanged) -> None:
            assert files is not None
            data = await changes.packed()
            try:
                hash_ = await anyio.to_thread.run_sync(files.put, self.run, task.id, attempt, data)
            except (OSError, ValueError) as error:
                raise SandboxError(f"The changes of files cannot be kept: {error}") from error
            kept.append(Proposal(changes, proposed, hash_))

        is_done = False
        try:
            async with Turn(services, self.watch, None, None, folder, key) as turn:
                caller = replace(turn.caller, origin="workflow", keep=None if files is None else keep)
                intent = self._intent(task, context, key)
                wish = Wish("", task.intent, task.tools, is_strict=True)
                try:
                    done = await execute(intent, wish, services, caller)
                except (AuditError, EnergyError, SandboxError, OSError) as error:
                    return failed("HostFailed", f"the code was not run: {error}")
                ended = await self._ended(task, done, intent, energy, turn, folder)
            is_done = ended.status == "ok"
            return replace(ended, files=kept[0]) if is_done and kept else ended
        finally:
            if not is_done:
                for proposal in kept:
                    proposal.changes.rollback()
                with anyio.CancelScope(shield=True), suppress(OSError):
                    if kept and files is not None:
                        await anyio.to_thread.run_sync(files.forget, self.run, task.id, attempt)

    async def tool(self, task: McpToolTask, arguments: dict[str, Any], attempt: int) -> Attempted:
        services, began = self.services, time.perf_counter()
        key = key_of(self.run, task.id, attempt)
        async with Turn(services, self.watch, None, None, None, key) as turn:
            try:
                if is_core(task.tool):
                    raise ToolError(f"{task.tool} is not for workflows", code="denied")
                tool = await self._tool(task.tool)
                ready = await turn.caller.calls.make(
                    tool,
                    arguments,
                    origin="workflow",
                    purpose=f'task "{task.id}" of the workflow "{self.name}"',
                    timeout_ms=services.settings.tools.call_timeout_ms,
                    # Only what the author wrote: results may hold tokens that strangers wrote.
                    written=to_json(task.arguments).decode(),
                )
            except ToolError as error:
                said = await self._shown(str(error))
                return failed("ToolError", said, is_final=error.code in _FINAL_CODES, metrics=_took(began))
            except (AuditError, SandboxError, OSError) as error:
                return failed("HostFailed", await self._shown(f"the tool was not called: {error}"))
        return await self._kept_result(
            task.id, lambda: value_of(bytes(ready.data), "the result"), len(ready.data), began
        )

    async def _tool(self, name: str) -> UsableTool:
        own = self.services.toolbox.get(name)
        if own is not None:
            return own
        found = await self.services.workbench.meant(name)
        if len(found) != 1:
            raise ToolError(f'"{name[:100]}" is not one tool; a task calls one by its whole name', code="not_found")
        if isinstance(found[0], AbsentTool):
            raise found[0].error
        return found[0]

    def _intent(self, task: CodeExecutionTask, context: dict[str, Any], key: str) -> RunCodeIntent:
        settings, narrow = self.services.settings, task.sandbox_config
        redactor = self.services.redactor
        given: dict[str, Any] = {
            "purpose": redactor.text(task.intent or f'task "{task.id}" of the workflow "{self.name}"'),
            "code": task.code,
            "intent": task.intent,
            "tools": task.tools,
            "context": context,
            "tier": Tier.NETWORK if narrow.allow_network else Tier.ISOLATED,
        }
        if narrow.timeout_ms is not None:
            given["timeout"] = narrow.timeout_ms
        if narrow.heap_limit_mb is not None:
            given["max_memory_mb"] = narrow.heap_limit_mb
        limits = settings.execute.within(settings.sandbox.max_timeout_ms)
        return intent_of(given, limits, Trace(turn=key, call=1), waits_for_tools=bool(task.tools or task.intent))

    async def _ended(
        self,
        task: CodeExecutionTask,
        done: Executed,
        intent: RunCodeIntent,
        energy: AttemptEnergy,
        turn: Turn,
        folder: Folder | None,
    ) -> Attempted:
        match done:
            case NotRun(refusal, hash_):
                if energy.is_over_budget:
                    most = self.budget.most
                    return failed("EnergyBudget", f"the run may take {most:g} energy in all", is_final=True)
                if energy.lacking is not None:
                    return Attempted("pending", lacking=energy.lacking)
                reason = reason_of(refusal)
                text = await self._shown(reason.text)
                turn.caller.announce(Refused("core.execute", text, intent, turn.id, hash_))
                return failed(reason.code, await self._shown(reason.message), is_final=True)
            case HostFailed(error):
                log.error("The host failed in a task of a workflow", exc_info=error)
                return failed("HostFailed", "the host failed; the code may have run")
            case Ran():
                return await self._ran(task, done, folder)

    async def _ran(self, task: CodeExecutionTask, done: Ran, folder: Folder | None) -> Attempted:
        outcome, metrics = done.outcome, done.outcome.metrics
        facts: dict[str, Any] = {
            "duration_ms": round(metrics.total_ms, 3),
            "startup_ms": round(metrics.startup_ms, 3),
            "execution_ms": round(metrics.execution_ms, 3),
            "memory_mb": round(metrics.peak_memory_mb, 1),
            "tool_calls": metrics.tool_calls,
            "cached": metrics.cached,
            "code_hash": code_hash(task.code),
        }
        if outcome.error is not None or not outcome.ok:
            kind = "CrashError" if outcome.error is None else str(outcome.error.type)
            message = "" if outcome.error is None else await self._shown(outcome.error.message)
            return failed(kind, message, metrics=facts, cost=done.cost)
        if outcome.truncated:
            said = f"the result has {outcome.result_bytes} bytes, which is too long"
            return failed("LimitError", said, metrics=facts, cost=done.cost, is_final=True)
        is_wanted = folder is not None and folder.commit != "never"
        if is_wanted and done.files is not None and "reason" in done.files.structured:
            said = await self._shown(str(done.files.structured["reason"]))
            return failed("FilesNotWritten", said, metrics=facts, cost=done.cost, is_final=True)
        size = weight_of_value(outcome.result, _ON_LOOP_BYTES + 1)
        kept = await self._kept_result(task.id, lambda: outcome.result, size)
        return replace(kept, metrics=facts, cost=done.cost)

    async def _kept_result(
        self, task: str, read: Callable[[], Any], size: int, began: float | None = None
    ) -> Attempted:
        """The result, redacted and fit for the journal; or why it cannot be kept."""
        metrics = {} if began is None else _took(began)
        try:
            result = await off_loop(size, _fit, read, self.services.redactor, f'the result of task "{task}"')
        except JournalError as error:
            return failed("LimitError", str(error), is_final=True, metrics=metrics)
        return Attempted("ok", result, metrics=metrics)

    async def _shown(self, text: str) -> str:
        return await off_loop(len(text), self.services.redactor.text, text)


def _fit(read: Callable[[], Any], redactor: Redactor, what: str) -> Any:
    result = redactor.value(read())
    text_of(result, what, MAX_RESULT_BYTES)
    return result


def _took(began: float) -> dict[str, Any]:
    return {"duration_ms": round((time.perf_counter() - began) * 1000, 3)}
