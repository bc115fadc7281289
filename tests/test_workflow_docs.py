"""The page about workflows: its tables are the code's, its plan files are plans, and its other programs are Python.

`tests/test_docs.py` runs its programs.
"""

from __future__ import annotations

import ast
import json
import re
from typing import get_args

import pytest

from cortex.workflows import (
    CodeExecutionTask,
    DecisionTask,
    McpToolTask,
    RunStatus,
    TaskResult,
    TaskStatus,
    checked,
    with_inputs,
)
from tests.documents import PAGES, ROOT

PAGE = PAGES["workflows"]
SOURCES = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "cortex" / "workflows").glob("*.py"))]
LIMITS = {
    "tasks of a plan": "MAX_TASKS",
    "layers of a plan": "MAX_DEPTH",
    "bytes of a plan": "MAX_PLAN_BYTES",
    "revisions of a plan": "MAX_REVISIONS",
    "references in one task": "MAX_REFERENCES",
    "retries of a task": "MAX_RETRIES",
    "seconds that a decision waits, if it says": "MAX_DECISION_S",
    "bytes of a result in the journal; a larger one lies in a file beside it": "MAX_ROW_BYTES",
    "bytes of a result": "MAX_RESULT_BYTES",
    "bytes of the changes of files of a task": "MAX_BYTES",
    "characters of a result that a question shows": "MAX_SHOWN_RESULT",
    "runs at a time in one process": "SLOTS",
    "seconds of a lease": "LEASE_S",
}
_KIND = re.compile(r"(?:run|layer|task|code_execution|decision)_[a-z]+|checkpoint_saved|replanned")
# Made of a part and how something ended.
COMPOSED = {"run_done", "run_failed", "run_aborted"} | {
    f"{what}_{ended}" for what in ("task", "code_execution") for ended in ("completed", "failed")
}


def number(name: str) -> float:
    """The value of the one constant of that name, wherever it stands."""
    [text] = {found for source in SOURCES for found in re.findall(rf"^{name} = ([0-9_. *]+)$", source, re.M)}
    product = 1.0
    for factor in text.split("*"):
        product *= float(factor)
    return product


def test_the_table_of_limits_has_the_numbers_of_the_code():
    rows = {row[0]: row[1] for row in PAGE.rows("Limits of workflows")}
    assert rows.keys() == LIMITS.keys()
    for label, cell in rows.items():
        assert float(cell.strip("`")) == number(LIMITS[label]), label


def test_the_table_of_tasks_names_each_field():
    of = {"mcp_tool": McpToolTask, "code_execution": CodeExecutionTask, "decision": DecisionTask}
    rows = {row[0].strip("`"): row[1] for row in PAGE.rows("Tasks")}
    assert rows.keys() == {name for model in of.values() for name in model.model_fields}
    for name, cell in rows.items():
        models = [type_ for type_, model in of.items() if name in model.model_fields]
        assert cell == "all" or re.findall(r"\w+", cell) == models, name


def test_the_statuses_are_those_of_the_code():
    assert PAGE.named("Statuses") == list(get_args(RunStatus))
    text = PAGE.section("Statuses")
    assert [name for name in get_args(TaskStatus) if f"`{name}`" not in text] == []


def test_the_table_of_events_names_each_kind():
    kinds = {
        node.value
        for source in SOURCES
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _KIND.fullmatch(node.value)
    }
    assert set(PAGE.named("Events")) == kinds | COMPOSED


def test_the_result_of_a_single_task_is_described():
    text = PAGE.section("Your own orchestrator")
    names = {*TaskResult.__slots__, "seen"} - {"metrics"}
    assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.parametrize("place", ["docs/workflows.md", "examples/workflows/commit_report.json"])
def test_a_plan_file_is_a_plan_that_takes_its_inputs(place: str):
    text = (ROOT / place).read_text(encoding="utf-8")
    if place.endswith(".md"):
        [text] = [block.text for block in PAGE.blocks if block.kind == "json"]
    plan = checked(json.loads(text))
    filled = with_inputs(plan, {"since": "2026-03-23", "until": "2026-03-30"})
    assert filled.tasks[0].arguments["since"] == "2026-03-23"
    assert "${input." not in filled.model_dump_json()


def test_programs_for_other_orchestrators_are_python():
    programs = [block.text for block in PAGE.blocks if block.kind == "text" and block.text.startswith("from ")]
    assert [name for text in programs for name in ("temporalio", "prefect") if name in text] == [
        "temporalio",
        "prefect",
    ]
    for text in programs:
        compile(text, "a block of docs/workflows.md", "exec")
        assert "run_task(" in text
