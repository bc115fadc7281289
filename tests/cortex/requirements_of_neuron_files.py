"""Each promise about files for neurons, and the tests that hold us to it. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

GRANTS = "tests/neurons/pipeline/test_file_grants.py::"
LIFE = "tests/cortex/learning/test_neuron_files.py::"
SHELL = "tests/cortex/commands/test_neuron_files_command.py::"
RESIDENT = "tests/sandbox/resident/test_resident_files.py::"
QUARANTINE = "tests/neurons/quarantine/test_quarantined_files.py::"
READ_ONLY = "tests/sandbox/workspace/test_read_only.py::"

REQUIREMENTS = (
    Requirement(
        "NEURON-FILES-1",
        "hands",
        "An owner grants a neuron a folder with its approval, read-only by default; it is shown and recorded",
        (
            GRANTS + "test_a_grant_is_read_only_by_default_and_holds_for_the_approved_neuron",
            GRANTS + "test_the_approval_is_recorded_with_the_kind_of_access_and_a_hash_of_the_folder",
            SHELL + "test_a_folder_is_granted_read_only_and_shown",
            SHELL + "test_writing_is_granted_only_by_name",
            SHELL + "test_a_folder_that_cannot_be_granted_is_refused_and_nothing_is_approved",
            LIFE + "test_a_neuron_reads_the_folder_that_came_with_its_approval_and_sees_no_path_of_the_host",
        ),
    ),
    Requirement(
        "NEURON-FILES-2",
        "hands",
        "Read-only cannot write, and nothing leads out of the folder",
        (
            READ_ONLY + "test_no_frame_writes_to_a_read_only_workspace",
            RESIDENT + "test_a_read_only_folder_is_read_and_every_kind_of_write_is_refused",
            RESIDENT + "test_a_link_that_leads_out_and_a_path_of_another_folder_lead_nowhere",
            LIFE + "test_read_only_is_the_default_and_cannot_write",
            LIFE + "test_links_and_paths_that_lead_out_reach_neither_another_neurons_folder_nor_the_home",
            LIFE + "test_a_folder_that_leads_elsewhere_now_is_not_lent",
        ),
    ),
    Requirement(
        "NEURON-FILES-3",
        "hands",
        "What a signal that succeeds writes is committed and recorded; of any other nothing is left",
        (
            RESIDENT + "test_each_signal_sees_the_folder_as_it_is_then_and_proposes_changes_of_its_own",
            RESIDENT + "test_a_signal_that_fails_leaves_no_change_and_the_next_one_does_not_find_what_it_wrote",
            RESIDENT + "test_writes_that_a_signal_did_not_wait_for_are_not_made_by_the_next_one",
            LIFE + "test_what_a_signal_that_succeeds_writes_is_committed_and_recorded_and_of_one_that_fails_nothing",
            LIFE + "test_a_file_that_somebody_else_changes_meanwhile_is_not_overwritten_and_the_signal_has_failed",
            LIFE + "test_what_cannot_be_recorded_is_not_committed",
            LIFE + "test_what_git_would_run_is_never_written_by_a_neuron",
        ),
    ),
    Requirement(
        "NEURON-FILES-4",
        "hands",
        "The permission ends with the code, with the neuron's sleep and while the kill switch is on",
        (
            GRANTS + "test_whatever_ends_the_approved_neuron_ends_the_grant",
            GRANTS + "test_what_was_disabled_gets_its_folder_only_by_a_new_approval",
            GRANTS + "test_a_rollback_brings_no_folder_back",
            GRANTS + "test_a_grant_that_was_edited_by_hand_ends_the_neuron_instead",
            GRANTS + "test_an_older_approval_with_a_folder_that_is_put_back_is_worth_nothing",
            LIFE + "test_a_grant_that_is_taken_away_while_a_signal_is_answered_commits_nothing",
            LIFE + "test_the_kill_switch_keeps_changes_from_being_made",
            LIFE + "test_a_disabled_neuron_has_no_process_and_its_grant_is_gone",
            SHELL + "test_disabling_takes_the_folder_away",
        ),
    ),
    Requirement(
        "NEURON-FILES-5",
        "hands",
        "A candidate that uses files is recognised, touches no folder of anybody's, and its owner is told",
        (
            QUARANTINE + "test_a_candidate_that_reads_files_is_recognised_and_its_owner_is_told",
            QUARANTINE + "test_a_candidate_writes_nowhere",
            GRANTS + "test_what_code_wants_of_files_is_recognised",
            GRANTS + "test_code_that_uses_files_is_not_approved_without_a_folder",
            LIFE + "test_the_owner_is_told_that_a_proposal_uses_files_and_cannot_approve_it_without_a_folder",
            LIFE + "test_scripts_that_use_files_become_a_habit",
        ),
    ),
)
