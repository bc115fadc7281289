"""The promises that close ways around the owner's consent, and the tests that hold us to them. Part of
`tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

TEXT = "tests/escapes/test_code_from_text.py::"
GUARD = "tests/sandbox/guard/test_guard.py::"
KILL = "tests/cortex/commands/test_kill_command.py::"
PRIORITY = "tests/sandbox/process/test_priority.py::"
SPENT = "tests/sandbox/resident/test_spent.py::"
RESTORED = "tests/neurons/pipeline/test_restored.py::"
CHANGES = "tests/cortex/audit/test_neuron_changes.py::"
ALIVE = "tests/cortex/learning/test_learning_alive.py::"
TRIAL = "tests/neurons/pipeline/test_trial.py::"
COUNTS = "tests/neurons/pipeline/test_counts.py::"
NERVE = "tests/neurons/autonomic/test_nerve.py::"
HOSTILE = "tests/sandbox/resident/test_resident_hostile.py::"

REQUIREMENTS = (
    Requirement(
        "NO-CODE-FROM-TEXT",
        "learning",
        "No text becomes code in a resident process: the four constructors of functions throw by whatever way they are "
        "reached, and no eval, module, worker, realm or WebAssembly is left. Runs of a model's code are as before",
        (
            TEXT + "test_no_text_of_a_signal_becomes_code",
            TEXT + "test_no_text_of_a_signal_becomes_code_without_denos_permissions",
            TEXT + "test_most_texts_would_become_code_where_nothing_hinders_them",
            TEXT + "test_a_run_of_a_model_may_still_make_functions",
            HOSTILE + "test_code_that_is_loaded_has_no_tools_yet",
        ),
    ),
    Requirement(
        "GUARD-COMPUTED-CONSTRUCTOR",
        "learning",
        "The guard finds a computed constructor in code that stays, and refuses no run of a model for one",
        (
            GUARD + "test_a_computed_constructor_is_found_in_code_that_stays_and_refuses_no_run",
            GUARD + "test_code_that_stays_and_computes_other_names_is_left_alone",
            GUARD + "test_long_chains_of_pieces_take_little_time",
            "tests/neurons/quarantine/test_quarantine.py::test_what_the_guard_finds_rejects_and_does_not_run",
        ),
    ),
    Requirement(
        "KILL-READ-ONLY-HOME",
        "learning",
        "Where the switch cannot be written, also that of one neuron, the noted programs themselves are stopped, whether "
        "what they had noted still runs or not; it is said how they go on",
        (
            KILL + "test_on_a_home_that_is_read_only_the_programs_are_stopped_and_start_nothing",
            PRIORITY + "test_a_program_is_stopped_also_when_what_it_had_noted_has_ended",
            PRIORITY + "test_a_program_that_has_the_pid_of_an_earlier_one_is_not_stopped",
        ),
    ),
    Requirement(
        "BUDGET-OF-EACH-SIGNAL",
        "learning",
        "Each signal of a batch is charged what it computed and asked for, and counts when that is over the budget. The "
        "process says how the computing divides, the host has the sum; what is not explained is charged to one signal",
        (
            SPENT + "test_one_costly_signal_among_many_is_found",
            SPENT + "test_code_that_answers_for_the_harness_hides_nothing_of_what_it_computed",
            SPENT + "test_together_the_signals_are_charged_what_the_host_has_measured",
            SPENT + "test_a_process_that_says_nothing_of_a_large_amount_is_charged_for_it_at_one_signal",
            "tests/neurons/autonomic/test_nerve.py::test_one_costly_signal_among_many_cheap_ones_is_counted",
            "tests/neurons/quarantine/test_quarantine.py::test_one_costly_signal_among_cheap_ones_is_over_the_budget",
        ),
    ),
    Requirement(
        "RESTORED-DOCUMENTS",
        "learning",
        "A document that disagrees with the last record of a change of its neuron's status does not run: an old document "
        "or a whole old state is noticed; the reason says what to do, and nobody is locked out by a kill between both",
        (
            RESTORED + "test_a_document_that_is_put_back_after_disable_does_not_run",
            RESTORED + "test_an_older_version_that_is_put_back_is_in_quarantine",
            RESTORED + "test_an_older_grant_of_files_that_is_put_back_is_none",
            RESTORED + "test_a_decision_that_was_recorded_and_not_written_locks_nobody_out",
            RESTORED + "test_a_trial_whose_end_was_recorded_and_not_written_goes_on",
            RESTORED + "test_without_an_audit_documents_are_believed",
            RESTORED + "test_what_else_is_recorded_about_a_neuron_is_no_change_of_its_status",
            RESTORED + "test_an_audit_that_cannot_be_read_wakes_nobody",
            CHANGES + "test_the_last_change_of_each_neuron_is_found_over_all_days_and_processes",
            CHANGES + "test_other_records_about_a_neuron_are_no_changes",
            CHANGES + "test_a_long_log_is_read_from_where_it_was_read_last",
            CHANGES + "test_what_was_kept_for_another_log_is_not_believed",
            CHANGES + "test_a_log_that_was_replaced_is_read_anew",
            ALIVE + "test_a_whole_state_that_is_put_back_wakes_nothing_that_was_disabled",
        ),
    ),
    Requirement(
        "TRIAL-AWAKE",
        "learning",
        "A trial takes the time for which the neuron was loaded, and signals in a quarter of its hours: neither a process "
        "that is closed nor a burst of signals ends one. What was counted is sealed",
        (
            TRIAL + "test_a_trial_that_was_slept_through_is_not_over",
            TRIAL + "test_signals_in_a_burst_do_not_end_a_trial",
            TRIAL + "test_the_hours_with_signals_that_it_takes_go_by_the_length_of_the_trial",
            TRIAL + "test_a_function_is_tried_by_its_calls_and_is_not_kept_awake",
            TRIAL + "test_progress_says_what_is_left",
            COUNTS + "test_counts_that_were_edited_lead_back_to_quarantine",
            COUNTS + "test_counts_without_a_seal_count_for_nothing",
            COUNTS + "test_counts_are_sealed_with_every_batch_and_a_trial_without_a_fault_ends",
            NERVE + "test_a_trial_counts_the_time_for_which_the_layer_was_open",
        ),
    ),
)
