"""Promises about what code can say in a reply, and about files that a program runs by itself. Part of
`tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

REPLIES = "tests/cortex/contracts/test_replies.py::"
CODE = "tests/cortex/turn/test_code_mode.py::"
DETAIL = "tests/cortex/tools/test_error_detail.py::"
TURN = "tests/cortex/turn/test_files.py::"
WATCHED = "tests/cortex/turn/test_watched_files.py::"
METER = "tests/sandbox/contracts/test_json_meter.py::"
RUNNING = "tests/sandbox/process/test_running.py::"

REQUIREMENTS = (
    Requirement(
        "REPLY-QUOTED",
        "hands",
        "Nothing that code throws, prints or returns passes for a line of the host in a reply",
        (
            REPLIES + "test_no_line_of_a_message_or_of_the_output_passes_for_one_of_the_host",
            REPLIES + "test_a_cut_result_is_one_line_whatever_is_in_it",
            REPLIES + "test_no_part_of_a_long_output_passes_for_a_line_of_the_host",
        ),
    ),
    Requirement(
        "REPLY-WHOLE-SECRETS",
        "hands",
        "Secrets are taken out of what code or an exception says before it is cut, quoted or put on one line",
        (
            REPLIES + "test_the_authors_line_is_cut_after_secrets_are_taken_out",
            CODE + "test_a_secret_in_a_message_of_several_lines_or_over_the_end_of_the_shown_line_is_found_whole",
            DETAIL + "test_half_a_secret_at_the_end_of_a_long_message_is_never_pulled_into_what_is_shown",
            DETAIL + "test_a_secret_of_several_lines_is_found_in_a_message",
        ),
    ),
    Requirement(
        "REPLY-LOOP",
        "hands",
        "Neither long messages of many tools nor frames of long numbers stall the event loop",
        (
            DETAIL + "test_long_messages_of_many_calls_do_not_stall_the_event_loop",
            METER + "test_a_number_is_as_long_wherever_the_text_is_cut",
            METER + "test_a_frame_of_long_numbers_is_refused_before_they_are_read",
        ),
    ),
    Requirement(
        "FILES-EYES",
        "hands",
        "With auto, too, the owner is asked about what other programs run by themselves and about files of the cortex",
        (
            TURN + "test_a_git_repository_of_any_name_is_asked_about_also_with_auto",
            TURN + "test_files_that_decide_what_the_cortex_does_are_asked_about_also_with_auto",
            WATCHED + "test_each_watched_name_counts_anywhere_in_a_path_and_in_any_case",
            WATCHED + "test_a_file_of_the_cortex_is_found_by_each_of_its_names",
            WATCHED + "test_settings_know_the_file_that_they_were_read_from",
        ),
    ),
    Requirement(
        "KILL-READER",
        "hands",
        "The reader of programs ends when the runtime is stopped, and when it finds that nothing may run",
        (
            RUNNING + "test_a_runtime_that_is_stopped_kills_refuses_and_goes_on_when_it_may",
            RUNNING + "test_without_a_launcher_each_process_is_noted",
        ),
    ),
)
