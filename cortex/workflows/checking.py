"""What is wrong with a plan on this machine, before anything runs: tools, arguments, hosts and folders. Pure.

A plan that is sound by itself may still name a tool that is not there. Tools of servers that were not asked
are named as not checked.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cortex.tools import is_core, policy_of
from sandbox import BadSchema, ToolError, schema_problem

from .plan import has_references
from .tasks import CodeExecutionTask, McpToolTask, has_vain_retries

if TYPE_CHECKING:
    from cortex.settings import Settings
    from cortex.tools import UsableTool

    from .plan import Plan
    from .tasks import Task


@dataclass(frozen=True, slots=True)
class UnknownTool:
    """There is no such tool, and why that is known."""

    why: str


@dataclass(frozen=True, slots=True)
class PlanProblem:
    """One thing that would go wrong, or could not be looked at."""

    task: str
    text: str
    is_certain: bool = True
    """False for what was not checked, and for a field that changes nothing."""

    def __str__(self) -> str:
        return f'task "{self.task}": {self.text}'


def tool_names(plan: Plan) -> list[str]:
    """The tools that the plan names, each once, in its order."""
    named = (name for task in plan.tasks for name in _named(task))
    return list(dict.fromkeys(named))


def problems_of(
    plan: Plan, tools: Mapping[str, UsableTool | UnknownTool | None], settings: Settings, *, folders: Set[str]
) -> list[PlanProblem]:
    """All that would go wrong with the tasks. `tools` has each named tool; None for a tool that was not
    looked for. `folders` has the names of the granted folders."""
    found: list[PlanProblem] = []
    for task in plan.tasks:
        for name in _named(task):
            found += (PlanProblem(task.id, *problem) for problem in _about_tool(task, name, tools.get(name), settings))
        if isinstance(task, CodeExecutionTask):
            found += (PlanProblem(task.id, text) for text in _about_code(task, settings, folders))
        if has_vain_retries(task):
            found.append(PlanProblem(task.id, "`retries` changes nothing without `idempotent`", is_certain=False))
    return found


def _named(task: Task) -> tuple[str, ...]:
    match task:
        case McpToolTask():
            return (task.tool,)
        case CodeExecutionTask():
            return task.tools
        case _:
            return ()


def _about_tool(
    task: Task, name: str, tool: UsableTool | UnknownTool | None, settings: Settings
) -> Iterator[tuple[str, bool]]:
    if is_core(name):
        yield f"{name} is not for workflows", True
    elif tool is None:
        yield f"the tool {name[:100]} was not checked: its server was not asked", False
    elif isinstance(tool, UnknownTool):
        yield f"there is no tool {name[:100]}: {tool.why}", True
    elif policy_of(tool, settings.tools) == "deny":
        yield f"the tool {name[:100]} is denied by the settings", True
    elif isinstance(task, McpToolTask) and (problem := _misfit(tool, task.arguments)):
        yield problem, True


def _misfit(tool: UsableTool, arguments: Mapping[str, Any]) -> str | None:
    """Why the tool would refuse the arguments; what is not known before the run is taken to be right."""
    unknown = {name for name, value in arguments.items() if has_references(value)}
    try:
        if not unknown:
            tool.read(arguments)
            return None
        schema = dict(tool.declaration.input_schema)
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return None
        schema["properties"] = {**properties, **{name: True for name in unknown if name in properties}}
        return schema_problem(json.dumps(schema).encode(), dict(arguments))
    except ToolError as error:
        return str(error)
    except (BadSchema, ValueError, TypeError, RecursionError):
        return None  # a schema that cannot be used: the call itself will say so


def folder_problem(task: CodeExecutionTask, folders: Collection[str]) -> str | None:
    """Why the task cannot have its folder; None if it can. `folders` has the names of the granted folders."""
    if task.workspace is None or task.workspace in folders:
        return None
    granted = f"only these are granted: {', '.join(sorted(folders))}" if folders else "no folder is granted"
    return f'it wants the folder "{task.workspace[:60]}", and {granted}'


def _about_code(task: CodeExecutionTask, settings: Settings, folders: Set[str]) -> Iterator[str]:
    if task.sandbox_config.allow_network and not settings.sandbox.network.allow:
        yield "it wants the network, and no host is allowed (sandbox.network.allow)"
    if (problem := folder_problem(task, folders)) is not None:
        yield problem
    if len(task.code.encode(errors="replace")) > settings.sandbox.max_code_bytes:
        yield f"its code is longer than {settings.sandbox.max_code_bytes} bytes"
