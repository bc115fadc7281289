"""Each promise about what is kept of runs, and the tests that hold us to it. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

READ = "tests/cortex/runs/test_reader.py::"
WRITE = "tests/cortex/runs/test_writer.py::"
REPLAY = "tests/cortex/replay/test_replay.py::"
COMPARE = "tests/cortex/replay/test_comparing.py::"
REPLAYED = "tests/cortex/commands/test_replay_command.py::"
NEURONS = "tests/cortex/commands/test_neurons_command.py::"
ACTIVITY = "tests/neurons/autonomic/test_activity.py::"
OPEN = "tests/cortex/runs/test_open_programs.py::"
RESERVE = "tests/cortex/energy/test_reserve.py::"
COURSE = "tests/cortex/views/test_energy_view.py::"
BUNDLE = "tests/cortex/runs/test_bundle.py::"
VIEW = "tests/cortex/views/test_run_view.py::"
SHELL = "tests/cortex/commands/test_runs_command.py::"

REQUIREMENTS = (
    Requirement(
        "RUNS-1",
        "016",
        "Each run leaves a line with what the audit and the outcome say of it, and where it came from",
        (
            WRITE + "test_a_run_is_kept_with_what_the_audit_and_the_outcome_say",
            WRITE + "test_runs_are_private_and_a_line_each_in_the_file_of_the_day",
            WRITE + "test_a_cached_run_names_the_run_that_gave_its_result",
            WRITE + "test_a_cancelled_run_is_kept_with_the_calls_it_had_made",
        ),
    ),
    Requirement(
        "RUNS-2",
        "016",
        "Calls and requests have times, sizes and outcomes, the owner's wait, redirects and refusals, and no query",
        (
            WRITE + "test_calls_of_tools_and_of_the_store_have_their_times_sizes_and_the_owners_wait",
            WRITE + "test_requests_have_their_times_redirects_and_refusals_and_no_query",
        ),
    ),
    Requirement(
        "RUNS-3",
        "016",
        "Texts are redacted before they leave the run; a secret that only a log has gets no token the model could name",
        (
            WRITE + "test_secrets_that_the_redactor_knows_never_reach_the_folder",
            WRITE + "test_a_secret_that_only_the_log_has_gets_no_token_that_the_model_could_name",
            WRITE + "test_with_facts_no_text_is_kept_and_with_off_nothing",
        ),
    ),
    Requirement(
        "RUNS-4",
        "016",
        "Everything is bounded, and what was left out is counted",
        (
            WRITE + "test_a_text_is_cut_to_the_limit_of_the_setting_and_says_so",
            WRITE + "test_of_many_log_lines_the_first_and_the_last_are_kept_and_the_others_counted",
            WRITE + "test_of_many_calls_the_first_are_kept_and_the_others_counted",
            WRITE + "test_a_recording_is_bounded_and_says_what_it_left_out",
            WRITE + "test_a_line_that_would_be_too_long_for_the_reader_is_made_shorter",
            WRITE + "test_a_cut_text_is_never_longer_than_its_limit",
            WRITE + "test_half_a_character_in_a_text_is_no_reason_to_lose_the_run",
        ),
    ),
    Requirement(
        "RUNS-5",
        "016",
        "It is written after the reply, from a bounded queue with counted drops, and flushed at the end; the disk costs "
        "a run nothing",
        (
            WRITE + "test_runs_that_end_faster_than_the_disk_writes_are_dropped_and_counted",
            WRITE + "test_heavy_texts_that_wait_are_bounded_together",
            WRITE + "test_what_waits_at_the_end_is_written_before_the_writer_is_closed",
            WRITE + "test_a_disk_that_refuses_costs_the_details_and_nothing_else",
            WRITE + "test_without_an_audit_the_details_are_kept_and_stand_for_nothing",
        ),
    ),
    Requirement(
        "RUNS-6",
        "016",
        "A changed line does not match the audit, which stays whole when a run is forgotten",
        (
            READ + "test_a_changed_run_does_not_match_the_audit_and_neither_does_a_forged_one",
            READ + "test_a_forgotten_run_leaves_a_tombstone_and_nothing_else_moves",
            READ + "test_forgetting_the_past_takes_what_cannot_be_read_of_it_too",
        ),
    ),
    Requirement(
        "RUNS-7",
        "016",
        "Runs are listed newest first, in pages, with filters, and found by a beginning of their id; reading creates nothing",
        (
            READ + "test_an_empty_home_has_no_runs_and_reading_creates_nothing",
            READ + "test_runs_come_newest_first_in_pages_that_go_on_where_the_last_one_ended",
            READ + "test_a_run_that_is_added_between_two_pages_moves_nothing",
            READ + "test_days_and_parts_are_read_in_their_order_in_both_directions",
            READ + "test_a_filter_finds_what_fits_all_that_it_says",
            READ + "test_a_run_is_found_by_its_id_or_by_a_beginning_that_only_it_has",
            READ + "test_what_is_no_cursor_is_refused",
            READ + "test_the_check_before_a_line_is_read_leaves_out_nothing_that_fits",
            READ + "test_lines_that_cannot_fit_are_not_parsed",
        ),
    ),
    Requirement(
        "RUNS-8",
        "016",
        "Torn, damaged and foreign lines cost no other line, and a program that is killed leaves a readable file",
        (
            READ + "test_a_damaged_line_costs_no_other",
            READ + "test_a_torn_end_is_left_out_and_the_next_line_stands_for_itself",
            READ + "test_a_line_without_an_end_of_any_length_is_skipped",
            READ + "test_lines_read_backwards_are_the_lines",
            READ + "test_a_clock_that_was_set_back_leads_to_no_older_file",
            WRITE + "test_a_program_that_is_killed_at_any_moment_leaves_a_file_that_can_be_read",
        ),
    ),
    Requirement(
        "RUNS-9",
        "016",
        "What a run drew by chance can be drawn again, and what it was answered is on record",
        (
            WRITE + "test_what_a_run_drew_by_chance_can_be_drawn_again_from_its_seed",
            WRITE + "test_a_recording_is_bounded_and_says_what_it_left_out",
        ),
    ),
    Requirement(
        "RUNS-10",
        "016",
        "A run is facts for pages and tables: what took time and when, the console between, its code, whether the audit "
        "has its hash, and what running it again would lack",
        (
            VIEW + "test_a_row_has_what_a_list_shows_and_no_float_of_the_ledger",
            VIEW + "test_what_took_time_comes_in_the_order_in_which_it_began",
            VIEW + "test_entries_of_the_console_stand_between_the_calls_and_say_where_some_are_missing",
            VIEW + "test_a_run_is_shown_with_its_code_and_whether_the_audit_has_its_hash",
            VIEW + "test_code_that_was_changed_in_its_folder_is_not_shown_as_what_ran",
            VIEW + "test_what_a_replay_would_lack_is_said_in_sentences",
            VIEW + "test_a_forgotten_run_is_a_row_and_a_page_of_its_own",
            VIEW + "test_looking_at_a_home_without_runs_creates_nothing",
        ),
    ),
    Requirement(
        "RUNS-11",
        "016",
        "`cortex runs` lists runs by what is asked for, page by page, and shows one; a beginning that several have is an "
        "error that names them",
        (
            SHELL + "test_the_list_is_a_table_newest_first",
            SHELL + "test_a_filter_of_the_list_finds_what_fits",
            SHELL + "test_a_list_goes_on_where_it_ended_and_says_how",
            SHELL + "test_what_cannot_be_meant_is_said",
            SHELL + "test_a_damaged_line_is_told_and_costs_no_other",
            SHELL + "test_a_run_is_shown_with_code_calls_console_error_and_reply",
            SHELL + "test_programs_get_the_same_facts_as_json",
        ),
    ),
    Requirement(
        "RUNS-12",
        "016",
        "No text of a run controls the terminal, or looks like a part of the page around it",
        (SHELL + "test_no_text_of_a_run_controls_the_terminal_or_looks_like_a_part_of_the_page",),
    ),
    Requirement(
        "RUNS-13",
        "016",
        "The owner forgets a run, or all before a date: asked first, recorded first, with a tombstone, and the audit "
        "stays whole",
        (
            SHELL + "test_forgetting_a_run_asks_is_recorded_first_and_leaves_the_audit_whole",
            SHELL + "test_without_a_writable_audit_nothing_is_forgotten",
            SHELL + "test_all_runs_before_a_date_are_forgotten_together",
        ),
    ),
    Requirement(
        "RUNS-14",
        "016",
        "A run is exported as one file without secrets, and a file that was changed is refused",
        (
            SHELL + "test_an_exported_run_has_no_planted_secret_and_is_read_again",
            BUNDLE + "test_an_exported_run_is_read_again_as_it_was_but_for_hashes_of_what_may_have_been_secret",
            BUNDLE + "test_where_secrets_were_taken_out_no_hash_is_left_by_which_they_could_be_found",
            BUNDLE + "test_a_file_that_was_changed_or_is_none_is_refused",
            BUNDLE + "test_a_file_whose_code_is_not_that_of_the_run_is_refused_also_with_a_right_hash",
            BUNDLE + "test_a_short_secret_is_not_found_by_the_hash_of_the_run_or_of_its_recording",
            BUNDLE + "test_a_file_with_more_calls_than_a_run_has_is_refused",
        ),
    ),
    Requirement(
        "RUNS-15",
        "016",
        "A replay runs the same code on its record, without network, functions, energy or a record of its own, and says "
        "whether the same comes of it",
        (
            REPLAY + "test_the_same_comes_of_a_run_and_nothing_has_an_effect",
            REPLAY + "test_errors_of_functions_are_what_they_were",
            REPLAY + "test_requests_are_answered_by_the_record_alone",
            REPLAY + "test_calls_that_are_under_way_together_may_change_places",
            REPLAY + "test_a_run_that_ran_out_of_time_does_so_again",
            REPLAY + "test_a_call_that_had_no_answer_has_none_again_and_nothing_is_missing",
            REPLAY + "test_secrets_are_tokens_in_a_replay_and_no_difference",
            REPLAY + "test_a_runtime_may_be_given_for_many_replays",
            REPLAY + "test_bytes_pictures_and_a_cached_result_come_again",
            REPLAY + "test_an_error_of_a_server_is_an_error_of_that_server_again",
            COMPARE + "test_what_may_be_another_in_a_replay_is_no_difference",
            REPLAYED + "test_a_replay_says_that_the_same_came_of_it",
            REPLAYED + "test_an_exported_run_is_replayed_on_another_machine",
            REPLAYED + "test_nothing_is_replayed_while_the_kill_switch_is_on",
        ),
    ),
    Requirement(
        "RUNS-16",
        "016",
        "What differs is told, the first call that is not on record first; what is missing is said and not guessed",
        (
            REPLAY + "test_the_first_call_that_is_not_on_record_is_told_and_answered_by_nothing",
            REPLAY + "test_what_is_not_on_record_is_said_and_not_guessed",
            REPLAY + "test_code_that_looks_at_the_clock_is_told_why_it_differs",
            REPLAY + "test_a_run_without_an_outcome_cannot_be_compared",
            REPLAY + "test_a_run_that_was_forgotten_or_has_no_code_is_refused",
            REPLAY + "test_a_record_that_no_run_can_have_left_is_refused",
            REPLAY + "test_hostile_names_places_and_schemas_of_a_file_end_no_replay",
            COMPARE + "test_what_is_not_as_on_record_is_a_difference",
            COMPARE + "test_what_is_not_on_record_comes_first_and_is_bounded",
            REPLAYED + "test_what_cannot_be_replayed_is_an_error",
            REPLAYED + "test_details_that_somebody_made_up_are_refused_in_one_line",
            REPLAYED + "test_the_name_of_a_run_of_a_file_is_no_second_verdict",
            REPLAYED + "test_a_run_without_its_code_says_what_is_missing",
        ),
    ),
    Requirement(
        "RUNS-17",
        "016",
        "A replay answers what if: a function had failed, there had been less energy, other policies had been in force",
        (
            REPLAY + "test_what_if_a_function_had_failed",
            REPLAY + "test_what_if_there_had_been_less_energy",
            REPLAY + "test_what_if_other_policies_had_been_in_force",
            REPLAY + "test_a_function_that_the_owner_was_asked_about_counts_as_one_to_ask_about",
            REPLAYED + "test_what_if_shows_what_would_differ_and_the_reply",
            REPLAYED + "test_what_if_the_policies_of_another_file_had_been_in_force",
            REPLAYED + "test_what_if_is_read_strictly",
        ),
    ),
    Requirement(
        "RUNS-18",
        "016",
        "The rate, prices and floors of the program that spends are in the home, so that others draw and forecast right",
        (
            RESERVE + "test_the_terms_of_a_program_stand_in_its_first_entry_and_in_the_snapshot",
            RESERVE + "test_terms_that_are_damaged_are_no_terms",
            COURSE + "test_the_terms_are_those_of_the_program_that_spends_and_not_of_who_looks",
        ),
    ),
    Requirement(
        "RUNS-19",
        "016",
        "Which programs are open and what each runs now is in the home, also after a crash, and costs a run a microsecond",
        (
            OPEN + "test_a_program_is_in_the_home_while_it_is_open_with_the_runs_that_last",
            OPEN + "test_a_program_that_ends_by_itself_leaves_no_file_however_long_it_takes_to_close",
            OPEN + "test_a_run_that_is_over_soon_costs_no_write",
            OPEN + "test_a_program_that_was_killed_is_found_to_be_gone_with_what_it_ran",
            OPEN + "test_a_process_of_the_same_pid_is_not_taken_for_the_program",
            OPEN + "test_a_damaged_or_too_large_file_is_left_out_and_costs_no_other",
            OPEN + "test_what_long_gone_programs_left_is_deleted_by_the_next_one",
            OPEN + "test_a_folder_that_cannot_be_written_to_stops_no_program",
            "tests/cortex/views/test_running_view.py::test_a_run_whose_program_is_gone_runs_no_more",
            "tests/cortex/console/test_runs_in_the_console.py::test_a_run_whose_program_was_killed_does_not_look_as_if_it_ran",
        ),
    ),
    Requirement(
        "RUNS-20",
        "016",
        "What each neuron did in each five minutes of a week is kept: at most 64 KiB a neuron, written now and then",
        (
            ACTIVITY + "test_what_was_done_is_counted_in_steps_of_five_minutes",
            ACTIVITY + "test_it_is_written_once_a_minute_and_goes_on_where_another_process_left_it",
            ACTIVITY + "test_a_week_is_kept_and_fits_into_64_kib",
            ACTIVITY + "test_a_clock_that_was_wrong_costs_no_more_than_what_it_counted",
            ACTIVITY + "test_what_is_older_than_a_week_is_deleted_by_the_next_process_that_leads",
            ACTIVITY + "test_a_damaged_document_is_no_activity",
            ACTIVITY + "test_the_layer_counts_what_its_neurons_did_and_writes_it_at_its_end",
            ACTIVITY + "test_a_disk_that_refuses_costs_the_activity_and_nothing_else",
            NEURONS + "test_what_a_neuron_did_in_a_day_is_shown_and_kept_for_plots",
        ),
    ),
)

SETTINGS = {
    "runs": {
        "keep": WRITE + "test_with_facts_no_text_is_kept_and_with_off_nothing",
        "days": READ + "test_runs_are_kept_for_the_days_of_the_setting",
        "max_mb": READ + "test_the_oldest_runs_make_way_when_there_is_too_much",
        "max_text_bytes": WRITE + "test_a_text_is_cut_to_the_limit_of_the_setting_and_says_so",
        "max_calls": WRITE + "test_of_many_calls_the_first_are_kept_and_the_others_counted",
        "keep_arguments": WRITE + "test_calls_of_tools_and_of_the_store_have_their_times_sizes_and_the_owners_wait",
    },
}
