"""`core.plan`: keeps a plan of the model as a run that nothing but a yes of the owner lets begin."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import anyio
from anyio.to_thread import run_sync as in_thread

from cortex.audit import AuditError
from cortex.tools import PLAN, CoreTool, can_be_asked, invalid, is_core, policy_of
from sandbox import ToolError

from .answers import AGENT, APPROVAL
from .dispatch import DispatchFull
from .journal import TERMINAL, JournalError, WorkflowError
from .plan import PlanError, checked
from .plan_text import energy_of_plan
from .tasks import CodeExecutionTask, DecisionTask, McpToolTask

if TYPE_CHECKING:
    from cortex.settings import Policy
    from cortex.turn import Services

    from .plan import Plan
    from .workflows import Workflows

MAX_PROPOSED = 5
"""Plans of the agent that wait for the owner at a time."""
ASKED = "it waits for the owner to approve its plan"
"""The reason of a run whose plan is not approved yet."""


def plan_policy(services: Services) -> Policy:
    """Whether the owner is asked about plans of the model."""
    return policy_of(CoreTool(PLAN, "ask"), services.settings.tools)


class ProposedPlans:
    """A `cortex.turn.Plans`. `opened` returns the workflows, which are opened when the first plan comes."""

    def __init__(self, opened: Callable[[], Workflows]) -> None:
        self._opened = opened

    async def propose(self, given: Any, *, turn: str) -> str:
        """Keep the plan; wait for the owner only where there is one to ask. Raises ToolError."""
        flows = self._opened()
        services = flows.services
        policy = plan_policy(services)
        if policy == "deny":
            raise ToolError(f"the owner does not allow {PLAN}", code="denied")
        try:
            plan = await in_thread(lambda: checked(given))
            self._require_known(plan, services)
            if await in_thread(self._waiting, flows) >= MAX_PROPOSED:
                why = f"{MAX_PROPOSED} plans wait for the owner already: propose no more, and tell the user"
                raise ToolError(why, code="denied")
            # What the owner is shown is what it may take, whatever comes of it.
            most = energy_of_plan(plan, services.settings.energy).at_most
            run = await flows.start(plan, by=AGENT, turn=turn, energy_budget=most)
            if policy == "ask" and not can_be_asked(services.owner):
                return _waits(run.id)
            return await self._told(flows, run.id, plan, services.settings.tools.owner_timeout_s)
        except PlanError as error:
            raise invalid(f"This is no sound plan: {error}") from error
        except (AuditError, DispatchFull, JournalError, WorkflowError) as error:
            raise ToolError(str(error), code="denied") from error

    def _waiting(self, flows: Workflows) -> int:
        return sum(run.reason == ASKED for run in flows.list(limit=200, status="waiting"))

    def _require_known(self, plan: Plan, services: Services) -> None:
        for task in plan.tasks:
            named = [task.tool] if isinstance(task, McpToolTask) else getattr(task, "tools", ())
            for name in named:
                if is_core(name):
                    raise PlanError(f'task "{task.id}" names {name[:100]}, which is not for workflows')
                is_there = services.toolbox.get(name) is not None or services.workbench.server_of(name) is not None
                if not is_there:
                    raise PlanError(f'task "{task.id}" names "{name[:100]}", and there is no such tool')
            wants_network = isinstance(task, CodeExecutionTask) and task.sandbox_config.allow_network
            if wants_network and not services.settings.sandbox.network.allow:
                raise PlanError(f'task "{task.id}" wants the network, and this host allows none')

    async def _told(self, flows: Workflows, run: str, plan: Plan, within_s: float) -> str:
        with anyio.move_on_after(within_s):
            async with aclosing(flows.events(run)) as events:
                async for event in events:
                    is_answer = event.kind == "decision_answered" and event.data.get("task") == APPROVAL
                    if is_answer and event.data.get("answer") == "approve":
                        return _begun(run, plan)
        row = (await in_thread(lambda: flows.show(run))).run
        if row.status in TERMINAL:
            raise ToolError(f"run {run} will not be done: {row.reason or row.status}", code="denied")
        return _waits(run)


def _waits(run: str) -> str:
    return (
        f"Run {run} waits for the owner, who sees the plan and decides; nothing of it runs before. You need not wait, "
        "and are not told its results: say so to the user."
    )


def _begun(run: str, plan: Plan) -> str:
    asks = [task for task in plan.tasks if isinstance(task, DecisionTask)]
    told = [f"{task.id} (the {task.by})" for task in asks[:10]]
    more = f" and {len(asks) - 10} more" if len(asks) > 10 else ""
    waits = f" It will wait for answers to {', '.join(told)}{more}." if told else ""
    return f"Run {run} has started.{waits} It goes on by itself, and its results are not told here."
