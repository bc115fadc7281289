"""Each promise about files for agents, and the tests that hold us to it. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

TURN = "tests/cortex/turn/test_files.py::"
LINES = "tests/cortex/turn/test_file_lines.py::"
CONTENTS = "tests/sandbox/workspace/test_contents.py::"
SERVED = "tests/cortex/mcp_server/test_files.py::"
CHAT = "tests/cortex/chat/test_command.py::"
ESCAPES = "tests/escapes/test_files_in_turns.py::"

REQUIREMENTS = (
    Requirement(
        "FILES-1",
        "hands",
        "MotorCortex(workspace=Folder(…)) and cortex.turn(workspace=…) give files to code",
        (
            TURN + "test_a_folder_of_a_turn_takes_the_place_of_that_of_the_cortex",
            TURN + "test_a_folder_is_checked_when_it_is_named",
        ),
    ),
    Requirement(
        "FILES-2",
        "hands",
        "The tool description says in one line that files are there",
        (TURN + "test_one_line_of_the_description_says_that_files_are_there",),
    ),
    Requirement(
        "FILES-3",
        "hands",
        "After a run the reply says what would change, in at most ten lines",
        (
            LINES + "test_the_model_reads_the_kind_the_name_and_the_size",
            LINES + "test_the_model_reads_at_most_ten_lines",
            TURN + "test_a_run_without_changes_says_nothing_of_files",
            TURN + "test_a_program_gets_the_changes_in_parts",
        ),
    ),
    Requirement(
        "FILES-4",
        "hands",
        "With ask the owner sees the list and a diff, and answers once for the whole run; silence is a no",
        (
            TURN + "test_the_owner_sees_the_list_and_the_differences_and_answers_once_for_the_run",
            TURN + "test_without_a_yes_nothing_changes_and_the_model_is_told",
            LINES + "test_the_owner_sees_what_changes_in_a_file",
            LINES + "test_the_owner_sees_first_what_is_lost_and_how_many_are_left_out",
            CONTENTS + "test_each_change_has_what_was_there_and_what_will_be",
            CONTENTS + "test_a_file_that_is_not_the_one_any_more_is_not_shown_as_what_the_run_saw",
            "tests/cortex/text/test_compared_lines.py::test_both_texts_can_be_read_from_their_difference",
        ),
    ),
    Requirement(
        "FILES-5",
        "hands",
        "auto commits what succeeded, never only shows; what git would run is asked about in any case",
        (
            TURN + "test_auto_commits_what_succeeded_without_a_question",
            TURN + "test_never_only_shows",
            TURN + "test_what_git_would_run_is_asked_about_also_with_auto",
        ),
    ),
    Requirement(
        "FILES-6",
        "hands",
        "Conflicts are told; a run that failed, or was cut short, changes nothing",
        (
            TURN + "test_a_conflict_is_told_and_nothing_of_it_is_written",
            TURN + "test_two_runs_at_once_that_change_the_same_file_do_not_both_win",
            TURN + "test_a_run_that_failed_changes_nothing_and_says_so",
            TURN + "test_a_turn_that_is_cancelled_during_the_question_changes_nothing_and_is_written_down",
        ),
    ),
    Requirement(
        "FILES-7",
        "hands",
        "cortex chat --workspace: the question comes at the terminal; a pipe is no consent",
        (
            CHAT + "test_the_owner_sees_what_would_change_in_the_terminal_and_agrees_once",
            CHAT + "test_without_a_terminal_only_auto_changes_files",
        ),
    ),
    Requirement(
        "FILES-8",
        "hands",
        "cortex mcp serve --workspace, and roots of a client where the owner allows it; no client gives consent",
        (
            SERVED + "test_clients_use_the_folder_of_the_server_and_auto_commits",
            SERVED + "test_a_client_is_never_asked_for_the_owners_consent_to_changes",
            SERVED + "test_no_root_leads_where_the_owner_has_not_allowed_it",
            SERVED + "test_roots_are_not_asked_for_unless_the_owner_allows_it",
            SERVED + "test_the_command_serves_a_folder_and_roots_within_those_that_it_is_told",
        ),
    ),
    Requirement(
        "FILES-9",
        "hands",
        "A CSV file of 5 MB is read and added up within the limits of a default run",
        (TURN + "test_a_table_of_five_megabytes_is_read_and_added_up_within_the_limits",),
    ),
    Requirement(
        "FILES-10",
        "hands",
        "The audit records counts and hashes; what cannot be recorded, and what the kill switch stops, is not committed",
        (
            TURN + "test_the_audit_has_counts_and_hashes_and_neither_names_nor_contents",
            TURN + "test_what_cannot_be_written_down_is_not_committed",
            TURN + "test_the_kill_switch_that_is_turned_during_the_question_wins",
        ),
    ),
    Requirement(
        "FILES-11",
        "hands",
        "Neither names nor contents steer a terminal, pass for our lines or reach the model unredacted",
        (
            LINES + "test_no_name_can_steer_a_terminal_end_a_line_or_be_endless",
            LINES + "test_a_line_of_a_file_can_neither_steer_the_terminal_nor_pass_for_ours",
            LINES + "test_no_two_names_look_the_same",
            TURN + "test_names_that_hold_secrets_are_redacted_for_the_model",
        ),
    ),
    Requirement(
        "FILES-12",
        "hands",
        "The home of the cortex is in no workspace; every attack program with files is stopped in turns, too",
        (
            TURN + "test_the_home_of_the_cortex_is_never_in_a_workspace",
            ESCAPES + "test_the_property_of_a_program_with_files_holds_in_a_turn",
            ESCAPES + "test_the_property_of_a_program_with_files_holds_in_a_turn_without_denos_permissions",
        ),
    ),
    Requirement(
        "FILES-13",
        "hands",
        "A run with a workspace is never answered from the cache",
        (TURN + "test_a_run_with_files_is_never_answered_from_the_cache",),
    ),
)
