from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from cortex.workflows import CodeExecutionTask, DecisionTask, McpToolTask, Narrower, Task, may_repeat

TASK: TypeAdapter[Any] = TypeAdapter(Task)


def test_a_task_of_each_type_is_read_as_an_author_writes_it():
    tool = TASK.validate_python({"id": "list", "type": "mcp_tool", "tool": "git.log", "arguments": {"n": 3}})
    code = TASK.validate_python(
        {
            "id": "group",
            "type": "code_execution",
            "code": "return context.list.length",
            "dependencies": ["list"],
            "sandbox_config": {"timeoutMs": 100, "heapLimitMB": 64, "allowNetwork": True},
        }
    )
    ask = TASK.validate_python({"id": "ask", "type": "decision", "ask": "Post it?", "dependencies": ["group"]})
    assert isinstance(tool, McpToolTask)
    assert isinstance(code, CodeExecutionTask)
    assert isinstance(ask, DecisionTask)
    assert code.sandbox_config == Narrower(timeout_ms=100, heap_limit_mb=64, allow_network=True)
    assert (tool.idempotent, tool.retries, tool.on_error) == (False, 0, "stop")
    assert (code.idempotent, code.retries, code.tools, code.workspace) == (None, 1, (), None)
    assert (ask.by, ask.may_replan, ask.timeout_s) == ("owner", False, None)


@pytest.mark.parametrize("id_", ["a", "A1", "list-commits", "x_y", "constructor", "a" * 64])
def test_an_id_is_a_plain_name(id_):
    assert TASK.validate_python({"id": id_, "type": "decision", "ask": "?"}).id == id_


@pytest.mark.parametrize(
    "id_", ["", "__proto__", "_a", "1a", "a.b", "a b", "a\n", "ä", "a" * 65, "${a}", "../a", 7, None]
)
def test_an_id_that_could_mean_something_else_is_refused(id_):
    with pytest.raises(ValidationError):
        TASK.validate_python({"id": id_, "type": "decision", "ask": "?"})
    with pytest.raises(ValidationError):
        TASK.validate_python({"id": "a", "type": "decision", "ask": "?", "dependencies": [id_]})


@pytest.mark.parametrize(
    "given",
    [
        {"type": "mcp_tool", "tool": ""},
        {"type": "mcp_tool", "tool": "x" * 201},
        {"type": "mcp_tool", "tool": "x", "retries": 11},
        {"type": "mcp_tool", "tool": "x", "retries": -1},
        {"type": "mcp_tool", "tool": "x", "on_error": "ignore"},
        {"type": "mcp_tool", "tool": "x", "code": "return 1"},
        {"type": "code_execution", "code": ""},
        {"type": "code_execution", "code": "x", "tools": ["t"] * 51},
        {"type": "code_execution", "code": "x", "intent": "x" * 2_001},
        {"type": "code_execution", "code": "x", "sandbox_config": {"timeoutMs": 0}},
        {"type": "code_execution", "code": "x", "sandbox_config": {"env": {}}},
        {"type": "decision", "ask": ""},
        {"type": "decision", "ask": "x" * 2_001},
        {"type": "decision", "ask": "?", "by": "model"},
        {"type": "decision", "ask": "?", "timeout_s": 30 * 86_400 + 1},
        {"type": "shell", "command": "ls"},
        {},
    ],
)
def test_a_task_that_is_out_of_bounds_is_refused(given):
    with pytest.raises(ValidationError):
        TASK.validate_python({"id": "a", **given})


@pytest.mark.parametrize(
    ("given", "reaches_out", "may"),
    [
        ({"type": "mcp_tool", "tool": "x"}, True, False),
        ({"type": "mcp_tool", "tool": "x", "idempotent": True}, True, True),
        ({"type": "code_execution", "code": "x"}, False, True),
        ({"type": "code_execution", "code": "x"}, True, False),
        ({"type": "code_execution", "code": "x", "idempotent": True}, True, True),
        ({"type": "code_execution", "code": "x", "idempotent": False}, False, False),
        ({"type": "decision", "ask": "?"}, False, True),
    ],
)
def test_a_task_is_repeated_without_a_question_only_where_that_does_no_harm(given, reaches_out, may):
    assert may_repeat(TASK.validate_python({"id": "a", **given}), reaches_out=reaches_out) is may
