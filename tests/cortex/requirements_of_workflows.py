"""The promises of workflows: the plan, the rules of its tasks, and the journal that outlives a process."""

from __future__ import annotations

from tests.requirement import Requirement

PLAN = "tests/cortex/workflows/test_plan.py::"
TASKS = "tests/cortex/workflows/test_tasks.py::"
JOURNALS = "tests/cortex/workflows/test_journals.py::"
SQLITE = "tests/cortex/workflows/test_sqlite_journal.py::"

REQUIREMENTS = (
    Requirement(
        "WORKFLOW-PLAN",
        "002",
        "Any plan runs each task at most once, in the order of dependencies, in layers that are as wide as possible",
        (
            PLAN + "test_any_plan_runs_each_task_at_most_once_and_in_the_order_of_dependencies",
            PLAN + "test_layers_are_as_wide_as_possible",
            PLAN + "test_a_task_never_runs_behind_one_that_failed_for_good",
            PLAN + "test_a_task_that_failed_lets_others_go_on_only_if_its_author_says_so",
        ),
    ),
    Requirement(
        "WORKFLOW-STATE",
        "002",
        "State and context are folded in the order of the plan, whichever task ended first; a resumed task is given the same",
        (
            PLAN + "test_state_and_contexts_do_not_depend_on_the_order_in_which_tasks_ended",
            PLAN + "test_a_task_is_given_the_same_whatever_else_has_ended_meanwhile",
            PLAN + "test_the_state_of_results_is_merged_in_the_order_of_the_plan",
            PLAN + "test_a_dependent_of_a_failed_task_sees_the_error",
            PLAN + "test_a_task_does_not_see_the_state_of_one_that_it_does_not_depend_on",
        ),
    ),
    Requirement(
        "WORKFLOW-HASHES",
        "workflows 3",
        "The hash of a plan stands for all of it and survives the disk; a task is valid for the hash of what it was given",
        (
            PLAN + "test_a_plan_is_the_same_after_it_was_written_and_read",
            PLAN + "test_any_json_in_arguments_keeps_the_hash_when_it_is_written_and_read",
            PLAN + "test_the_hash_stands_for_all_of_the_plan_and_for_nothing_else",
            PLAN + "test_what_a_task_was_given_is_hashed_with_the_results_of_its_dependencies_and_the_state",
        ),
    ),
    Requirement(
        "WORKFLOW-REPLAN",
        "002",
        "A replan adds tasks and removes pending ones, and never touches a task that has begun",
        (
            PLAN + "test_a_replan_never_touches_a_task_that_has_begun",
            PLAN + "test_a_replan_adds_tasks_and_removes_pending_ones",
            PLAN + "test_a_replan_that_is_not_allowed_says_why",
        ),
    ),
    Requirement(
        "WORKFLOW-BOUNDS",
        "workflows 3",
        "A circle, a missing dependency, 201 tasks, 51 layers, the id __proto__, a megabyte: each has its own error before "
        "anything runs",
        (
            PLAN + "test_a_plan_that_cannot_be_run_says_why",
            PLAN + "test_what_is_no_plan_is_refused",
            PLAN + "test_a_plan_of_a_megabyte_is_the_largest",
            PLAN + "test_a_value_that_is_nested_too_deeply_is_refused",
            PLAN + "test_plans_at_their_bounds_can_be_run",
            TASKS,
        ),
    ),
    Requirement(
        "WORKFLOW-REFERENCES",
        "workflows 4",
        "A reference is a whole value of an argument or a context, never a part of code; data brings none of its own",
        (
            PLAN + "test_a_reference_that_is_a_whole_value_gives_way_to_that_part_of_a_result",
            PLAN + "test_a_reference_to_a_part_that_is_not_there_says_so",
            PLAN + "test_inputs_are_put_into_arguments_and_contexts_and_never_into_code",
            PLAN + "test_an_input_cannot_bring_a_reference_of_its_own",
            PLAN + "test_inputs_cannot_make_a_plan_longer_than_it_may_be",
            PLAN + "test_only_a_whole_reference_is_replaced",
        ),
    ),
    Requirement(
        "WORKFLOW-JOURNAL",
        "workflows 3",
        "A step is saved whole or not at all, survives kill -9, and only the leader of a run saves; the first answer counts; "
        "events have no gaps; a run that has ended never changes. In SQLite and in memory alike",
        (JOURNALS,),
    ),
    Requirement(
        "WORKFLOW-DISK",
        "workflows 5",
        "A full disk, a home that cannot be written, a journal that was cut or belongs to a newer program: a clear error, and "
        "nothing is lost",
        (
            SQLITE + "test_a_full_disk_is_an_error_that_says_so_and_nothing_is_lost",
            SQLITE + "test_a_home_that_cannot_be_written_is_an_error_that_says_so_and_nothing_is_lost",
            SQLITE + "test_a_journal_that_was_cut_or_is_no_database_is_named_and_left_as_it_is",
            SQLITE + "test_a_journal_whose_main_file_is_missing_is_not_begun_anew",
            SQLITE + "test_a_journal_of_a_newer_program_is_left_to_it",
            SQLITE + "test_a_large_result_that_was_changed_on_disk_is_not_taken_for_the_one_that_was_saved",
        ),
    ),
    Requirement(
        "WORKFLOW-DURABLE",
        "workflows 3",
        "Each step is flushed before it returns; large results are flushed before the rows that name them; files are private; "
        "a result and all together are bounded",
        (
            SQLITE + "test_every_step_is_flushed_to_the_disk_before_it_returns",
            SQLITE + "test_the_files_of_a_journal_are_for_its_owner_alone",
            SQLITE + "test_a_result_is_bounded_and_so_are_all_together",
            SQLITE + "test_a_large_result_lies_in_a_file_that_is_named_by_its_hash",
        ),
    ),
    Requirement(
        "WORKFLOW-LIGHT",
        "workflows 6",
        "Neither `import cortex` nor `cortex run` imports sqlite3 or the workflows; saving and loading are in `make bench`",
        (
            SQLITE + "test_nothing_but_a_journal_that_is_opened_imports_sqlite",
            "tests/test_benchmarks.py::test_the_benchmark_of_workflows_saves_and_loads_runs",
        ),
    ),
)
