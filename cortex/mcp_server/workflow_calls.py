"""Answers the calls of clients about workflows: starts, shows and aborts their runs.

A client has no authority of the owner. A plan of a client waits until the owner has approved it, like one of the agent,
unless the policy of `core.plan` is allow; every task is governed like any call of a client. No call answers a question.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import anyio
from anyio.to_thread import run_sync as in_thread

from cortex.contracts import Denied, Reason, reason_of
from cortex.text import off_loop
from cortex.workflows import (
    TERMINAL,
    DecisionTask,
    DispatchFull,
    JournalError,
    NoSuchRun,
    PlanError,
    WorkflowError,
    checked,
    energy_of_plan,
)

from .client_runs import NO_SESSION, ClientRuns, OpenRun, run_of, starter
from .workflow_offers import START, STATUS, WORKFLOW_TOOLS, BadCall, StartCall, abort_call, start_call, status_call
from .workflow_view import in_words, view_of, with_results

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from cortex.contracts import Watch
    from cortex.turn import Caller
    from cortex.workflows import RunState, Workflows
    from neurons import Switch

    from .calls import Progress

_ENDS = frozenset({"run_done", "run_failed", "run_aborted"})
_RESTS = frozenset({"run_waiting", "run_resting"})
_TURNS = frozenset({"run_started", "run_resumed", "decision_answered", "layer_started", *_ENDS, *_RESTS})
"""After these it is clear whether a run goes on."""
_TASK_ENDS = frozenset({"task_completed", "task_failed"})
_NO_RUN = "there is no run with this key; a key is in the answer to workflow_start, and only its client has it"


class _AskingTurn(Protocol):
    @property
    def caller(self) -> Caller: ...


class WorkflowCortex(Protocol):
    """What of a cortex is needed to serve workflows."""

    @property
    def workflows(self) -> Workflows: ...

    @property
    def switch(self) -> Switch: ...

    def turn(
        self, watch: Watch | None = None, *, conversation: str | None = None
    ) -> AbstractAsyncContextManager[_AskingTurn]: ...


@dataclass(frozen=True, slots=True)
class _Client:
    by: str
    session: str | None


class WorkflowCalls:
    """The workflows of one server's clients."""

    names = WORKFLOW_TOOLS

    def __init__(self, cortex: WorkflowCortex, now: Callable[[], float] = time.monotonic) -> None:
        self._cortex = cortex
        self._now = now
        self._runs = ClientRuns()
        # One at a time: a run may hold many megabytes, and its view few kilobytes.
        self._reading = anyio.CapacityLimiter(1)

    async def answer(
        self, name: str, arguments: dict[str, Any], called: object, session: str | None, progress: Progress
    ) -> dict[str, Any] | Reason:
        """The answer as data, with `text`; or the reason of a refusal. `called` is what the client calls itself, and
        `session` what the server calls it: None for a client of the era without sessions."""
        try:
            return await self._answer(name, arguments, _Client(starter(called), session), progress)
        except BadCall as error:
            return reason_of(Denied(str(error)))

    async def _answer(
        self, name: str, arguments: dict[str, Any], client: _Client, progress: Progress
    ) -> dict[str, Any]:
        try:
            if name == START:
                return await self._start(await in_thread(start_call, arguments), client, progress)
            if name == STATUS:
                call = status_call(arguments)
                return await self._settled(call.key, client, call.wait_s, progress, for_news=True, task=call.task)
            stop = abort_call(arguments)
            run = run_of(stop.key)
            await self._cortex.workflows.abort(run, stop.reason or "its client stopped it", by=client.by)
            return await self._told(stop.key, client)
        except NoSuchRun as error:
            raise BadCall(_NO_RUN) from error
        except (PlanError, JournalError, WorkflowError, DispatchFull) as error:
            raise BadCall(str(error)[:2_000]) from error

    async def _start(self, call: StartCall, client: _Client, progress: Progress) -> dict[str, Any]:
        self._require_acting()
        plan = await in_thread(checked, call.plan)
        for task in plan.tasks:
            if isinstance(task, DecisionTask) and task.by == "agent":
                raise BadCall(f'task "{task.id}" asks the agent of this host, which is not for clients to ask')
        key = self._runs.key(client.session, call.id)
        run = run_of(key)
        flows = self._cortex.workflows
        is_there = await self._is_there(run)
        if is_there:
            await flows.start(plan, id=run, by=client.by)  # goes on with it; raises if the plan is another
            self._runs.open.setdefault(run, OpenRun(client.session or NO_SESSION))
        elif call.id == key:
            raise BadCall(_NO_RUN)
        else:
            await self._forget_ended()
            with self._runs.starting(client.session, self._now()) as place:
                # What the owner is shown is what it may take.
                most = energy_of_plan(plan, flows.services.settings.energy).at_most
                await flows.start(plan, id=run, by=client.by, energy_budget=most)
                self._runs.open[run] = OpenRun(place)
        return {**await self._settled(key, client, call.wait_s, progress, for_news=is_there), "key": key}

    def _require_acting(self) -> None:
        killed = self._cortex.switch.refusal()
        if killed is not None:
            raise BadCall(killed)

    async def _is_there(self, run: str) -> bool:
        try:
            await in_thread(self._cortex.workflows.past, run, 0, 1)
        except NoSuchRun:
            return False
        return True

    async def _forget_ended(self) -> None:
        """Give back the places of runs that have ended, whoever ended them."""
        for run, open_ in list(self._runs.open.items()):
            try:
                while events := await in_thread(self._cortex.workflows.past, run, open_.seen):
                    open_.seen = events[-1].seq
                    if events[-1].kind in _ENDS:
                        self._runs.open.pop(run, None)
            except NoSuchRun:
                self._runs.open.pop(run, None)

    async def _settled(
        self,
        key: str,
        client: _Client,
        wait_s: float,
        progress: Progress,
        *,
        for_news: bool,
        task: str | None = None,
    ) -> dict[str, Any]:
        """The run as it is after the wait. One that waits for nothing any more, because the owner has just answered, is
        waited for again."""
        until = anyio.current_time() + wait_s
        while True:
            await self._wait(run_of(key), max(0.0, until - anyio.current_time()), progress, for_news=for_news)
            told = await self._told(key, client, task=task)
            if told["waitsFor"] or told["status"] != "waiting" or anyio.current_time() >= until:
                return told
            for_news = True

    async def _wait(self, run: str, seconds: float, progress: Progress, *, for_news: bool = False) -> None:
        """Wait until the run has ended, waits or rests, or the time is over. `for_news`: if it waits or rests already,
        until it does so anew."""
        if not seconds:
            return
        flows, at, last, ended = self._cortex.workflows, 0, "", 0
        while events := await in_thread(flows.past, run, at):
            at, ended = events[-1].seq, ended + sum(event.kind in _TASK_ENDS for event in events)
            last = next((event.kind for event in reversed(events) if event.kind in _TURNS), last)
        if last in _ENDS or (last in _RESTS and not for_news):
            return
        with anyio.move_on_after(seconds):
            async with aclosing(flows.events(run, at)) as coming:
                async for event in coming:
                    ended += event.kind in _TASK_ENDS
                    progress.about = f"{ended} tasks have ended"
                    if event.kind in _ENDS or event.kind in _RESTS:
                        return

    async def _told(self, key: str, client: _Client, *, task: str | None = None) -> dict[str, Any]:
        run, flows = run_of(key), self._cortex.workflows
        is_ours = run in self._runs.open

        def read() -> dict[str, Any]:
            state: RunState = flows.show(run)
            if state.run.status in TERMINAL:
                self._runs.open.pop(run, None)
            if task is not None:
                state.run.plan.task(task)
            return view_of(state, task=task, is_led=is_ours or state.run.lease_until > time.time())

        view = await in_thread(read, limiter=self._reading)
        async with self._cortex.turn(conversation=client.session) as turn:
            view = await _redacted(view, turn.caller.show)
        return {"text": in_words(view), **view}


async def _redacted(view: dict[str, Any], show: Callable[[str], Awaitable[str]]) -> dict[str, Any]:
    """Results, names, reasons and messages as a model may see them: the owner's answers are among the results."""
    texts = {task["id"]: await show(task["result_text"]) for task in view["tasks"] if "result_text" in task}
    for task in view["tasks"]:
        if "error" in task:
            task["error"]["message"] = await show(task["error"]["message"])
    told = {**view, "name": await show(view["name"]), "reason": await show(view["reason"])}
    return await off_loop(sum(map(len, texts.values())), with_results, told, texts)
