"""What an agent may change of a plan: never more than the plan itself could reach, and never past the owner. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from .plan import Plan, PlanError
from .tasks import CodeExecutionTask, DecisionTask, McpToolTask, Task, repeats

if TYPE_CHECKING:
    from cortex.settings import Policy

    from .answers import Replan

PolicyOf: TypeAlias = "Callable[[str], Policy | None]"
"""The policy of a tool by its name; None for a tool that is not known here."""

# From mild to strict. An unknown tool counts as the strictest.
_STRICTNESS: Mapping[str | None, int] = {"allow": 0, "ask": 1, "deny": 2, None: 3}


def require_within(plan: Plan, said: Replan, after: Plan, policy: PolicyOf) -> None:
    """Raise PlanError if the answer of an agent would make `after` of the plan, and that reaches further.

    A decision of the owner cannot be removed. An added task may do what a task of the plan does, behind at least the
    same decisions of the owner; and do it more than once, only if that one may. A tool that is new to the plan has no
    stricter policy than the tools of the plan, and stands behind every decision of the owner."""
    owners = {task.id for task in plan.tasks if isinstance(task, DecisionTask) and task.by == "owner"}
    if gone := sorted(owners.intersection(said.remove)):
        raise PlanError(f'task "{gone[0]}" asks the owner: only the owner can remove it')
    gates_before, gates_after = _gates(plan, owners), _gates(after, owners)
    able = [(what, gates_before[task.id], _attempts(task)) for task in plan.tasks for what in _reach(task)]
    most = max((_STRICTNESS[policy(name)] for (kind, name), _, _ in able if kind == "tool"), default=0)
    for task in said.add:
        behind = gates_after[task.id]
        for what in _reach(task):
            there = [attempts for other, gates, attempts in able if what == other and gates <= behind]
            kind, name = what
            if kind in _OUTSIDE and _attempts(task) > max(there, default=1):
                raise PlanError(f'task "{task.id}" would repeat what no task of the plan may repeat as often')
            if there:
                continue
            if kind != "tool":
                raise PlanError(f'task "{task.id}" would have {_WORDS[kind]}, which no task of the plan has before it')
            if _STRICTNESS[policy(name)] > most:
                raise PlanError(f'task "{task.id}" would call {name[:100]}, whose policy is stricter than the plan has')
            if not owners <= behind:
                first = sorted(owners - behind)[0]
                raise PlanError(f'task "{task.id}" would call {name[:100]} before the owner has answered "{first}"')


_OUTSIDE = frozenset({"tool", "words", "network"})
"""What takes effect at once. Changes of files wait for the checkpoint, however often the code is attempted."""
_WORDS = {"network": "the network", "folder": "files", "words": "tools that fit an intent"}


def _reach(task: Task) -> Iterator[tuple[str, str]]:
    """What a task can do outside of the sandbox, each as a kind and a name."""
    match task:
        case McpToolTask():
            yield "tool", task.tool
        case CodeExecutionTask():
            yield from (("tool", name) for name in task.tools)
            if task.intent.strip():
                yield "words", task.intent.strip()
            if task.sandbox_config.allow_network:
                yield "network", ""
            if task.workspace is not None:
                yield "folder", task.workspace
        case DecisionTask():
            return


def _attempts(task: Task) -> int:
    """How often the task may be begun. One that may be repeated is begun again after a crash, too."""
    return 1 if isinstance(task, DecisionTask) or not repeats(task) else 2 + task.retries


def _gates(plan: Plan, owners: Iterable[str]) -> dict[str, frozenset[str]]:
    """For each task the decisions of the owner that come before it."""
    asked = frozenset(owners)
    found: dict[str, frozenset[str]] = {}
    for layer in plan.layers():
        for task in layer:
            above = frozenset(task.dependencies)
            found[task.id] = (above & asked).union(*(found[other] for other in above))
    return found
