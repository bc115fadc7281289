"""The promises of the page about workflows, of its example, and of single tasks for other orchestrators."""

from __future__ import annotations

from tests.requirement import Requirement

ALONE = "tests/cortex/workflows/test_single_task.py::"
PAGE = "tests/test_workflow_docs.py::"

REQUIREMENTS = (
    Requirement(
        "WORKFLOW-SINGLE-TASK",
        "workflows 1",
        "One task runs without a journal, for orchestrators that users have, through the same gates as in a run",
        (
            ALONE + "test_a_tool_and_code_run_alone_with_the_results_that_they_are_given",
            ALONE + "test_policies_the_owner_and_the_guard_hold_for_a_single_task",
            ALONE + "test_the_kill_switch_ends_a_single_task_and_refuses_the_next",
            ALONE + "test_files_of_a_single_task_are_committed_with_it",
            ALONE + "test_a_task_that_cannot_be_given_what_it_needs_says_so",
            ALONE + "test_a_question_and_a_wrong_key_are_refused",
        ),
    ),
    Requirement(
        "WORKFLOW-SINGLE-TASK-ENERGY",
        "002",
        "Energy is taken once for one key of the caller, and none comes back when the attempt is repeated",
        (
            ALONE + "test_energy_is_taken_once_for_a_key",
            ALONE + "test_an_attempt_that_is_repeated_and_given_a_kept_result_is_not_free",
        ),
    ),
    Requirement(
        "WORKFLOW-DOCS",
        "workflows 4",
        "The page about workflows has the numbers, fields, statuses and events of the code, and its programs run",
        (PAGE, "tests/test_docs.py::test_a_program_of_a_document_prints_what_stands_below_it"),
    ),
)
