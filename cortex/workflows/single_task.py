"""Runs one task without a run: for programs that have an orchestrator, such as Temporal, Prefect or a plain function.

The task passes the same gates as in a run: kill switch, policies and consent, guard, energy, audit, redaction. There is
no journal, so retries, waiting and what is done after a crash belong to the caller.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from anyio.to_thread import run_sync as in_thread

from cortex.contracts import weight_of_value

from .attempt_energy import Budget
from .attempts import Attempted, Attempts, failed
from .plan import INPUT, PlanError, filled, references_of
from .tasks import CodeExecutionTask, McpToolTask

if TYPE_CHECKING:
    from cortex.contracts import Watch
    from cortex.turn import Folder, Services

log = logging.getLogger("motor_cortex")

MAX_GIVEN_BYTES = 32 * 1_048_576
"""What one task is given, about. A sandbox allows less."""
MAX_KEY_CHARACTERS = 500
_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class TaskResult:
    """How one task ended. `result` is redacted JSON."""

    ok: bool
    result: Any = None
    error: Mapping[str, Any] | None = None
    """`{"type": …, "message": …}`, redacted; None if it went well."""
    is_final: bool = False
    """Another attempt would fail in the same way: a policy, the owner or the kill switch refused, or the arguments are
    wrong."""
    retry_after_s: float | None = None
    """How long until there is enough energy; None if that was not the reason, or it never comes."""
    cost: float = 0.0
    metrics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seen(self) -> Any:
        """What a task that depends on this one finds in its context."""
        return self.result if self.ok else {"ok": False, "error": dict(self.error or {})}


class SingleTasks:
    """Runs single tasks of one cortex."""

    def __init__(self, services: Services, folders: Mapping[str, Folder]) -> None:
        self._services = services
        self._folders = folders
        self._keys: set[str] = set()

    async def run(
        self,
        task: McpToolTask | CodeExecutionTask,
        context: Mapping[str, Any],
        *,
        key: str | None = None,
        watch: Watch | None = None,
    ) -> TaskResult:
        """Make one attempt. Raises PlanError for a task that cannot be run with this context."""
        if not isinstance(task, McpToolTask | CodeExecutionTask):
            raise PlanError("only a task of type mcp_tool or code_execution runs alone: a question needs a run")
        given = await in_thread(given_to, task, context)
        with self._held(key, task.id):
            attempts = Attempts(
                f"task:{key or secrets.token_hex(8)}",
                task.id,
                self._services,
                self._folders,
                None,
                Budget(0.0),
                watch,
                is_repeated=key is not None,
            )
            return _told(await self._attempt(attempts, task, given))

    async def _attempt(
        self, attempts: Attempts, task: McpToolTask | CodeExecutionTask, given: dict[str, Any]
    ) -> Attempted:
        """The attempt, cut short by the kill switch."""
        killed = self._services.switch.refusal()
        done: Attempted | None = None
        if killed is None:
            async with anyio.create_task_group() as group:
                group.start_soon(self._stop_when_killed, group.cancel_scope)
                done = await self._made(attempts, task, given)
                group.cancel_scope.cancel()
            killed = self._services.switch.refusal()
        if done is None or (killed is not None and done.status != "ok"):
            return failed("Killed", killed or "the kill switch was on", is_final=True)
        return done

    async def _made(
        self, attempts: Attempts, task: McpToolTask | CodeExecutionTask, given: dict[str, Any]
    ) -> Attempted:
        try:
            match task:
                case CodeExecutionTask():
                    return await attempts.code(task, given, 1, again=False)
                case McpToolTask():
                    return await attempts.tool(task, given, 1)
        except Exception:
            log.exception("The host failed in a task")
            return failed("HostFailed", "the host failed; the task may have taken effect")

    async def _stop_when_killed(self, scope: anyio.CancelScope) -> None:
        poll_s = min(_LOOK_S, self._services.settings.neurons.kill_poll_ms / 1_000)
        while True:
            await anyio.sleep(poll_s)
            if self._services.switch.refusal() is not None:
                scope.cancel()
                return

    @contextmanager
    def _held(self, key: str | None, task: str) -> Iterator[None]:
        """Two attempts of one key at a time would share one payment."""
        if key is None:
            yield
            return
        if not (1 <= len(key) <= MAX_KEY_CHARACTERS and key.isprintable()):
            raise ValueError(f"a key has 1 to {MAX_KEY_CHARACTERS} printable characters")
        name = f"{key}/{task}"
        if name in self._keys:
            raise PlanError(f'task "{task}" is under way with this key')
        self._keys.add(name)
        try:
            yield
        finally:
            self._keys.discard(name)


def given_to(task: McpToolTask | CodeExecutionTask, context: Mapping[str, Any]) -> dict[str, Any]:
    """What the task is given: arguments with their references replaced, or its own context and that of the caller.
    Raises PlanError where something is missing, or is not JSON, or is too much."""
    known = dict(context)
    about = f'task "{task.id}"'
    if weight_of_value(known, MAX_GIVEN_BYTES) >= MAX_GIVEN_BYTES:
        raise PlanError(f"{about} is given more than {MAX_GIVEN_BYTES} bytes of context")
    for name in (*task.dependencies, *references_of(task)):
        if name not in known:
            raise PlanError(f'{about} needs "{name}", and the context has no such name')
    try:
        match task:
            case McpToolTask():
                given = {name: filled(value, known, about) for name, value in task.arguments.items()}
            case CodeExecutionTask():
                inputs = {INPUT: known[INPUT]} if INPUT in known else {}
                given = {**{name: filled(value, inputs, about) for name, value in task.context.items()}, **known}
        if weight_of_value(given, MAX_GIVEN_BYTES) >= MAX_GIVEN_BYTES:
            raise PlanError(f"{about} is given more than {MAX_GIVEN_BYTES} bytes")
        json.dumps(given, allow_nan=False)
    except PlanError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise PlanError(f"{about} is given a value that is not JSON, or is nested too deeply") from error
    return given


def _told(done: Attempted) -> TaskResult:
    if done.lacking is not None:
        error = {"type": "InsufficientEnergy", "message": str(done.lacking)}
        return TaskResult(False, error=error, retry_after_s=done.lacking.wait_s)
    return TaskResult(done.status == "ok", done.result, done.error, done.is_final, cost=done.cost, metrics=done.metrics)
