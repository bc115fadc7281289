"""The promises of `cortex workflow`: files of plans, what is shown, what the owner does, and processes."""

from __future__ import annotations

from tests.requirement import Requirement

FILE = "tests/cortex/workflows/test_plan_file.py::"
DRAWING = "tests/cortex/workflows/test_drawing.py::"
COMMAND = "tests/cortex/commands/test_workflow_command.py::"
PROCESSES = "tests/cortex/commands/test_workflow_processes.py::"
PROGRESS = "tests/cortex/commands/test_workflow_progress.py::"

REQUIREMENTS = (
    Requirement(
        "WORKFLOW-FILE",
        "workflows 4",
        "A plan is a file of JSON, or of YAML without bombs where PyYAML is there; counted before it is parsed; errors say "
        "where; inputs are whole values, and a missing or unknown one is an error; the schema is published and up to date",
        (FILE,),
    ),
    Requirement(
        "WORKFLOW-CHECK",
        "workflows 4",
        "A check finds circles, unknown tools, wrong arguments and what it costs, and starts nothing",
        (
            COMMAND + "test_a_check_says_layers_inputs_and_cost_and_starts_nothing",
            COMMAND + "test_what_is_certain_to_go_wrong_is_found_before_anything_runs",
            COMMAND + "test_tools_of_servers_that_were_not_asked_are_named_as_such",
            COMMAND + "test_a_file_that_is_no_plan_is_an_error_of_one_line",
            "tests/cortex/workflows/test_plan_text.py::",
        ),
    ),
    Requirement(
        "WORKFLOW-DRAWING",
        "workflows 4",
        "Plans and runs are drawn as text, Mermaid and SVG; 200 tasks stay readable; what authors wrote is never syntax, and a "
        "picture refers to nothing outside",
        (DRAWING, COMMAND + "test_a_drawing_is_written_to_a_file_or_to_the_output"),
    ),
    Requirement(
        "WORKFLOW-COMMANDS",
        "workflows 4",
        "Runs are listed, shown, followed and forgotten; a damaged journal, a home that cannot be written and a run that does "
        "not exist are clear errors; nothing that looks makes a folder or imports more than it needs",
        (COMMAND,),
    ),
    Requirement(
        "WORKFLOW-OWNER",
        "workflows 3",
        "An answer at the command line is bound to the hash of what was shown, recorded first, and the first one counts; in a "
        "terminal the owner is asked, and Enter leaves the question open; without one the command says how to answer",
        (
            COMMAND + "test_a_question_is_answered_once_with_the_hash_of_what_was_shown",
            COMMAND + "test_an_answer_may_be_a_value_or_a_change_of_the_plan",
            COMMAND + "test_what_cannot_be_recorded_is_not_done",
            PROCESSES + "test_in_a_terminal_the_owner_sees_what_runs_and_is_asked",
            PROCESSES + "test_without_a_terminal_a_run_ends_at_its_question_and_goes_on_when_it_is_answered",
            PROGRESS + "test_a_question_of_a_workflow_without_a_terminal_stays_open",
        ),
    ),
    Requirement(
        "WORKFLOW-PROGRESS",
        "workflows 4",
        "While a run goes on, a terminal shows a line for each task, a pipe gets plain lines, and a program one object",
        (PROGRESS,),
    ),
    Requirement(
        "WORKFLOW-DETACHED",
        "workflows 5",
        "Ctrl-C leaves a run at its last checkpoint; a detached one outlives its terminal; an abort and the kill switch reach "
        "both from another process, and nothing starts when the switch is off again",
        (
            PROCESSES + "test_ctrl_c_leaves_the_run_at_its_last_checkpoint_and_says_how_to_go_on",
            PROCESSES + "test_a_detached_run_outlives_its_terminal_and_dies_with_the_switch_for_good",
            PROCESSES + "test_a_kill_from_another_process_ends_a_run_in_a_terminal",
            PROCESSES + "test_an_abort_from_another_process_ends_what_runs",
            COMMAND + "test_the_switch_aborts_also_the_runs_that_no_process_leads",
            COMMAND + "test_an_abort_does_not_lose_changes_of_files_that_are_saved",
        ),
    ),
)
