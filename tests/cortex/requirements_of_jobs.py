"""What jobs promise the owner, and what holds of jobs, files and stores when a host is killed or code is hostile."""

from __future__ import annotations

from tests.requirement import Requirement

LEFT = "tests/cortex/jobs/test_left_behind.py::"
COMMAND = "tests/cortex/commands/test_jobs_command.py::"
ATTACKS = "tests/cortex/jobs/test_attacks.py::"
ESCAPES = "tests/escapes/test_jobs.py::"
FILES = "tests/cortex/turn/test_hostile_files.py::"
CONTENTS = "tests/sandbox/workspace/test_contents.py::"
STORES = "tests/cortex/home/test_stores.py::"

REQUIREMENTS = (
    Requirement(
        "JOBS-SETTLED-ONCE",
        "budget",
        "The energy of a job that never began comes back exactly once, also when a host is killed between the settling "
        "and the mark",
        (
            LEFT + "test_a_host_killed_between_the_settling_and_the_mark_gives_energy_back_once",
            LEFT + "test_a_start_killed_between_the_settling_and_the_mark_gives_energy_back_once",
            LEFT + "test_energy_that_cannot_be_given_back_now_is_given_back_by_the_next_start",
            LEFT + "test_a_record_that_names_energy_of_another_run_is_given_nothing",
        ),
    ),
    Requirement(
        "JOBS-TOLD-ONCE",
        "budget",
        "The end of a job is told once, and no restart tells it again",
        (
            LEFT + "test_an_ended_job_is_told_once_without_a_wake_and_not_again_after_restarts",
            LEFT + "test_jobs_that_were_cut_short_are_told_once_by_the_next_process_and_by_no_later_one",
        ),
    ),
    Requirement(
        "JOBS-COMMAND",
        "budget",
        "`cortex jobs` lists, shows, cancels and clears jobs, also of a process that runs; `cortex energy` says what is "
        "reserved for them",
        (
            COMMAND + "test_the_list_says_how_each_job_stands_without_secrets_and_control_of_the_terminal",
            COMMAND + "test_one_job_is_shown_with_its_reply_redacted",
            COMMAND + "test_what_names_no_job_is_a_mistake_and_changes_nothing",
            COMMAND + "test_a_job_of_another_process_is_cancelled_while_that_process_runs",
            COMMAND + "test_a_host_that_is_stopped_does_not_keep_the_command_waiting_for_ever",
            COMMAND + "test_cancelling_after_the_host_was_killed_settles_what_it_left_once",
            COMMAND + "test_clearing_deletes_what_has_ended_and_is_recorded",
            COMMAND + "test_what_cannot_be_recorded_is_not_done",
        ),
    ),
    Requirement(
        "JOBS-ATTACKS",
        "budget",
        "Every attack program of the door later is stopped in a job; floods are bounded, secrets are neither on disk nor "
        "told, the kill switch ends every job, and a handle that is a path leads nowhere",
        (
            ESCAPES + "test_the_property_of_a_program_holds_in_a_job",
            ESCAPES + "test_the_property_of_a_program_holds_in_a_job_without_denos_permissions",
            ATTACKS + "test_a_flood_of_jobs_is_bounded_by_their_number_and_costs_nothing_beyond",
            ATTACKS + "test_a_flood_of_jobs_stops_at_the_calls_of_a_turn_and_at_the_floor_of_the_energy",
            ATTACKS + "test_no_secret_of_a_job_is_on_disk_or_told",
            ATTACKS + "test_a_job_that_never_yields_does_not_outlive_the_kill_switch",
            ATTACKS + "test_a_handle_that_is_a_path_leads_to_no_job_and_no_file",
            ATTACKS + "test_a_request_to_cancel_that_another_program_planted_names_only_a_job_of_this_process",
        ),
    ),
    Requirement(
        "FILES-HOSTILE",
        "hands",
        "Hostile names, contents and moments change nothing unasked, steer no terminal and reach no listener as secrets",
        (
            FILES + "test_names_with_control_characters_are_refused_to_code",
            FILES + "test_odd_names_stay_on_their_line_in_the_reply_and_in_the_question",
            FILES + "test_secrets_in_contents_and_names_reach_neither_the_model_nor_listeners",
            FILES + "test_a_secret_of_a_diff_gets_no_token_that_the_model_could_name",
            FILES + "test_two_turns_that_write_the_same_file_do_not_both_win",
            FILES + "test_a_yes_after_the_folder_has_changed_writes_nothing",
            FILES + "test_a_thousand_changes_are_ten_lines_and_one_question_and_more_are_refused",
            FILES + "test_a_binary_file_is_named_and_not_shown_in_the_differences",
            FILES + "test_never_writes_nothing_whatever_the_code_and_the_owner_say",
            CONTENTS + "test_files_that_were_moved_into_another_folder_in_its_place_are_not_read",
            CONTENTS + "test_a_file_that_is_replaced_between_the_look_and_the_opening_is_not_shown",
            CONTENTS + "test_a_file_that_shrinks_or_grows_while_it_is_read_is_not_shown",
            CONTENTS + "test_what_is_not_the_file_any_more_is_not_even_opened",
        ),
    ),
    Requirement(
        "STORE-ATOMIC",
        "hands",
        "What several processes keep at the same time is all there, and a kill at any line of a commit leaves the old "
        "state or the new one",
        (
            STORES + "test_two_processes_that_write_many_keys_at_the_same_time_lose_none",
            STORES + "test_what_a_run_keeps_while_its_old_store_is_deleted_is_not_lost",
            STORES + "test_a_process_killed_at_any_line_of_a_commit_leaves_the_old_state_or_the_new_one",
        ),
    ),
)
