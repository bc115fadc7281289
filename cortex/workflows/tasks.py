"""The tasks of a workflow as an author writes them: calls of tools, code, and questions to a person or to the agent."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_RETRIES = 10
MAX_DECISION_S = 30 * 86_400

# Not `__proto__` and its like: results are fields of the object that code finds as `context`.
TaskId = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")]
ToolName = Annotated[str, Field(min_length=1, max_length=200)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Narrower(_Data):
    """Limits of a code task. They can be narrower than the owner's, and never wider."""

    timeout_ms: int | None = Field(default=None, gt=0, alias="timeoutMs")
    heap_limit_mb: int | None = Field(default=None, gt=0, alias="heapLimitMB")
    allow_network: bool = Field(default=False, alias="allowNetwork")

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


class _Task(_Data):
    id: TaskId
    dependencies: tuple[TaskId, ...] = ()
    """Tasks whose results this one needs. They are done before it starts."""


class McpToolTask(_Task):
    """A call of one tool: of the toolbox, or of an MCP server."""

    type: Literal["mcp_tool"] = "mcp_tool"
    tool: ToolName
    arguments: dict[str, Any] = Field(default_factory=dict)
    """JSON. A value `"${task.path}"` as a whole is replaced by that part of a result, `"${input.name}"` by an input."""
    idempotent: bool = False
    """Whether the call may be repeated without harm when it is not known whether it took place."""
    retries: int = Field(default=0, ge=0, le=MAX_RETRIES)
    on_error: Literal["stop", "continue"] = "stop"


class CodeExecutionTask(_Task):
    """A program for the sandbox. It finds the results of its dependencies as `context.<task id>`."""

    type: Literal["code_execution"] = "code_execution"
    code: str = Field(min_length=1)
    intent: str = Field(default="", max_length=2_000)
    tools: tuple[ToolName, ...] = Field(default=(), max_length=50)
    context: dict[str, Any] = Field(default_factory=dict)
    sandbox_config: Narrower = Field(default_factory=Narrower)
    workspace: str | None = None
    """The name of a folder that the owner has granted to workflows; None for no files."""
    idempotent: bool | None = None
    """None: code that names no tools may be repeated, other code may not."""
    retries: int = Field(default=1, ge=0, le=MAX_RETRIES)
    on_error: Literal["stop", "continue"] = "stop"


class DecisionTask(_Task):
    """A question. The run waits until it is answered."""

    type: Literal["decision"] = "decision"
    ask: str = Field(min_length=1, max_length=2_000)
    by: Literal["owner", "agent"] = "owner"
    may_replan: bool = False
    timeout_s: int | None = Field(default=None, gt=0, le=MAX_DECISION_S)
    """When this time is over, the answer is no."""


Task = Annotated[McpToolTask | CodeExecutionTask | DecisionTask, Field(discriminator="type")]


def may_repeat(task: Task, *, reaches_out: bool) -> bool:
    """Whether the task may be started again when it is not known whether its last start took effect. `reaches_out`: its
    code was lent a tool or the network. Its changes of files wait for the checkpoint, so they are never half made."""
    match task:
        case CodeExecutionTask(idempotent=None):
            return not reaches_out
        case DecisionTask():
            return True
        case _:
            return bool(task.idempotent)


def repeats(task: Task) -> bool:
    """Whether the task may be attempted again, from its text alone."""
    reaches_out = isinstance(task, CodeExecutionTask) and bool(
        task.tools or task.intent.strip() or task.sandbox_config.allow_network
    )
    return may_repeat(task, reaches_out=reaches_out)


def has_vain_retries(task: Task) -> bool:
    """Whether the author asked for retries that are never made, because the task may not be repeated."""
    # Compared with the defaults, not with the fields that were set: a plan from the journal has them all set.
    match task:
        case DecisionTask():
            return False
        case McpToolTask() | CodeExecutionTask():
            return task.retries > type(task).model_fields["retries"].default and not repeats(task)
