"""What jobs promise the owner, and what holds when a host is killed or code is hostile."""

from __future__ import annotations

from tests.requirement import Requirement

LEFT = "tests/cortex/jobs/test_left_behind.py::"
COMMAND = "tests/cortex/commands/test_jobs_command.py::"

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
)
