"""The promises of workflows: the plan, the rules of its tasks, and the journal that outlives a process."""

from __future__ import annotations

from tests.requirement import Requirement

PLAN = "tests/cortex/workflows/test_plan.py::"
TASKS = "tests/cortex/workflows/test_tasks.py::"
JOURNALS = "tests/cortex/workflows/test_journals.py::"
SQLITE = "tests/cortex/workflows/test_sqlite_journal.py::"
RUNS = "tests/cortex/workflows/test_workflows.py::"
EXECUTOR = "tests/cortex/workflows/test_executor.py::"
KILLS = "tests/cortex/workflows/test_kills.py::"
DISPATCH = "tests/cortex/workflows/test_dispatch.py::"
KEPT = "tests/sandbox/workspace/test_kept_changes.py::"

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
    Requirement(
        "WORKFLOW-HYBRID",
        "002",
        "Tools, code and decisions in one plan; tasks of a layer at the same time; results as context; 200 tasks in 20 layers; "
        "a result of a megabyte; one checkpoint for each layer",
        (
            RUNS + "test_a_hybrid_of_tools_code_and_a_decision",
            RUNS + "test_tasks_of_a_layer_run_at_the_same_time",
            RUNS + "test_two_hundred_tasks_in_twenty_layers",
            RUNS + "test_a_result_of_a_megabyte_reaches_the_next_task",
            EXECUTOR + "test_where_a_run_stands",
        ),
    ),
    Requirement(
        "WORKFLOW-GATES",
        "workflows 4",
        "A tool of a workflow is under the same policies and consent, with the origin `workflow`; code is lent only what it "
        "names; results are redacted before they are saved",
        (
            RUNS + "test_a_tool_of_a_workflow_is_under_the_policies_and_the_consent_of_others",
            RUNS + "test_code_is_lent_only_the_tools_that_it_names",
            RUNS + "test_results_are_redacted_before_they_are_saved",
        ),
    ),
    Requirement(
        "WORKFLOW-DECISIONS",
        "workflows 3",
        "A decision is bound to the hash of what was shown; the first answer counts; it approves, rejects, gives a value or "
        "changes the plan; silence in time is a no; an owner who is there is asked",
        (
            RUNS + "test_a_rejection_skips_what_depends_on_it_and_is_told",
            RUNS + "test_a_value_is_the_result_of_a_decision",
            RUNS + "test_a_decision_may_change_what_is_still_to_be_done",
            RUNS + "test_a_decision_that_nobody_answers_in_time_is_a_no",
            RUNS + "test_an_owner_who_is_there_is_asked",
            RUNS + "test_a_plan_that_wants_what_is_not_granted_is_refused",
        ),
    ),
    Requirement(
        "WORKFLOW-RETRIES",
        "002",
        "Only what may be repeated is tried again; `on_error: continue` lets dependents see the error",
        (RUNS + "test_attempts_are_made_until_one_succeeds_and_only_where_that_is_safe",),
    ),
    Requirement(
        "WORKFLOW-ENERGY",
        "workflows 3",
        "Without energy a run rests until the forecast; it takes no more than its budget; one attempt is paid once, also when "
        "another process repeats it",
        (
            RUNS + "test_without_energy_a_run_rests_and_goes_on_when_there_is_enough",
            RUNS + "test_a_run_takes_no_more_energy_than_its_budget",
            EXECUTOR + "test_the_energy_of_an_attempt_is_taken_once",
            EXECUTOR + "test_energy_that_was_given_back_is_taken_again",
        ),
    ),
    Requirement(
        "WORKFLOW-STOP",
        "workflows 5",
        "An abort and the kill switch end what runs, discard what was not saved, and leave the run at its last checkpoint; "
        "nothing starts by itself afterwards",
        (
            RUNS + "test_an_abort_kills_what_runs_and_leaves_the_run_at_its_last_checkpoint",
            RUNS + "test_the_kill_switch_aborts_every_run_and_nothing_starts_when_it_is_off_again",
        ),
    ),
    Requirement(
        "WORKFLOW-FORK",
        "workflows 2",
        "A fork takes over the results before a task, as far as they were given the same",
        (
            RUNS + "test_a_fork_takes_over_what_was_done_before",
            EXECUTOR + "test_what_a_fork_takes_over",
        ),
    ),
    Requirement(
        "WORKFLOW-EVENTS",
        "002",
        "The events of a run are followed live, none lost and none repeated, and announced to listeners",
        (RUNS + "test_events_are_followed_without_losing_or_repeating_one",),
    ),
    Requirement(
        "WORKFLOW-KILLS",
        "workflows 6",
        "A process killed at any moment: no saved task runs twice, no energy is taken twice for one attempt, no file is changed "
        "by a task that was not saved; what must not be repeated is asked about; of two processes one executes (50 kills: soak)",
        (KILLS,),
    ),
    Requirement(
        "WORKFLOW-FILES",
        "workflows 3",
        "Files of a code task are committed with its checkpoint, exactly once, and never over what others wrote meanwhile",
        (
            KILLS + "test_files_are_committed_exactly_once_also_when_killed_beside_the_checkpoint",
            RUNS + "test_two_tasks_of_a_layer_that_write_the_same_file_do_not_overwrite_each_other",
            EXECUTOR + "test_files_that_others_have_changed_meanwhile_are_kept_and_the_run_waits_for_the_owner",
            EXECUTOR + "test_kept_files_are_bounded_and_forgotten",
            KEPT,
        ),
    ),
    Requirement(
        "WORKFLOW-LEAD",
        "workflows 5",
        "A checkpoint that cannot be saved stops the run, and nothing of it is done; who has lost the lead saves and commits "
        "nothing",
        (
            EXECUTOR + "test_a_layer_whose_checkpoint_fails_is_not_done_and_nothing_after_it_starts",
            EXECUTOR + "test_a_process_that_has_lost_the_lead_saves_and_commits_nothing",
        ),
    ),
    Requirement(
        "WORKFLOW-DISPATCH",
        "workflows 4",
        "Runs are handed out by time and priority, never twice at once, in a bounded queue",
        (DISPATCH,),
    ),
)
