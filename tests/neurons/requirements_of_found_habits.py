"""What is promised about finding habits, and the tests that hold us to it. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

FOUND = "tests/neurons/habits/test_found.py::"
REGROUP = "tests/neurons/habits/test_regroup.py::"
EFFECTS = "tests/neurons/habits/test_effects.py::"
STYLES = "tests/neurons/habits/test_styles.py::"
COMPARING = "tests/neurons/habits/test_comparing.py::"
SIDE_BY_SIDE = "tests/neurons/quarantine/test_side_by_side.py::"
ALIVE = "tests/cortex/learning/test_comparing_alive.py::"
ONE = "tests/neurons/habits/test_one_difference.py::"
INDEX = "tests/neurons/habits/test_index.py::"

REQUIREMENTS = (
    Requirement(
        "FOUND-EFFECTS",
        "003",
        "The effects of a script (tools, host, path with variable segments folded, method) are its key",
        (
            EFFECTS + "test_an_effect_is_read_however_it_is_written",
            STYLES + "test_an_address_is_found_however_it_is_put_together",
            EFFECTS + "test_effects_are_the_same_as_far_as_they_are_known",
            EFFECTS + "test_any_address_makes_a_short_effect",
            REGROUP + "test_scripts_with_other_effects_never_meet",
            REGROUP + "test_the_requests_of_a_run_say_what_the_code_leaves_open",
        ),
    ),
    Requirement(
        "FOUND-FAMILIES",
        "003",
        "Scripts that are written again in other styles are told as one habit, and families do not mix",
        (
            FOUND + "test_families_of_rewritten_scripts_are_told",
            FOUND + "test_mildly_rewritten_scripts_are_told",
            STYLES + "test_another_style_of_the_same_step_does_not_tell_scripts_apart",
            FOUND + "test_habits_do_not_mix_families",
            ONE + "test_other_values_names_and_lines_make_no_other_script",
            ONE + "test_scripts_with_a_change_that_decides_nothing_stay_one",
            ONE + "test_scripts_of_one_family_never_differ_in_one_thing_only",
            ONE + "test_a_wording_that_was_seen_as_a_script_stays_one_of_it",
            FOUND + "test_a_month_of_one_user_gives_about_as_many_habits_as_there_are_families",
        ),
    ),
    Requirement(
        "FOUND-LOOK-ALIKES",
        "003",
        "Scripts that look alike and do something else stay apart",
        (
            FOUND + "test_scripts_that_look_alike_and_do_something_else_stay_apart",
            STYLES + "test_a_small_difference_in_what_is_done_tells_scripts_apart",
            ONE + "test_one_difference_that_decides_tells_scripts_apart",
            ONE + "test_scripts_with_one_deciding_change_stay_apart",
            ONE + "test_two_scripts_of_one_shape_are_two_documents",
            ONE + "test_fragments_of_two_scripts_are_not_merged_through_a_wording_between_them",
            ONE + "test_code_that_is_too_long_or_odd_is_not_compared",
            ONE + "test_any_text_makes_a_short_line",
            ONE + "test_lines_that_differ_much_are_given_up_early",
            ONE + "test_lines_of_many_names_are_compared_soon",
        ),
    ),
    Requirement(
        "FOUND-ANY-WORDING",
        "003",
        "An occurrence is compared with the latest different wordings; fragments that it joins are merged",
        (
            REGROUP + "test_two_fragments_that_an_occurrence_joins_are_merged",
            REGROUP + "test_a_merged_habit_keeps_the_id_that_was_told_and_the_other_ids_lead_to_it",
            REGROUP + "test_two_habits_with_a_neuron_each_stay_two",
            REGROUP + "test_what_is_kept_of_a_script_is_bounded",
            REGROUP + "test_of_scripts_that_are_nearly_alike_the_purpose_decides",
        ),
    ),
    Requirement(
        "FOUND-BEHAVIOUR",
        "003",
        "Pure scripts that look unlike and give the same on the same inputs become one habit; what cannot be told decides nothing",
        (
            SIDE_BY_SIDE + "test_scripts_that_give_the_same_are_told_from_those_that_do_not",
            SIDE_BY_SIDE + "test_pure_families_in_other_styles_are_found_and_none_of_their_scripts_is_said_to_differ",
            SIDE_BY_SIDE + "test_look_alikes_that_compute_are_never_said_to_be_the_same",
            SIDE_BY_SIDE + "test_an_input_from_which_a_secret_was_removed_is_not_used",
            COMPARING + "test_scripts_that_give_the_same_become_one_habit_and_it_is_told",
            COMPARING + "test_scripts_that_do_not_give_the_same_stay_two",
            COMPARING + "test_two_scripts_with_a_neuron_each_stay_two",
            ALIVE + "test_scripts_in_other_styles_become_one_habit_in_an_open_cortex",
        ),
    ),
    Requirement(
        "FOUND-BEHAVIOUR-BOUNDED",
        "003",
        "Scripts are run side by side in the background, each pair once, so many in an hour, and not while the kill switch is on",
        (
            COMPARING + "test_no_pair_is_run_twice_also_after_a_restart",
            COMPARING + "test_only_pure_scripts_that_are_somewhat_alike_are_run",
            COMPARING + "test_an_hour_has_room_for_some_pairs_and_the_others_come_later",
            COMPARING + "test_nothing_is_run_while_the_kill_switch_is_on_or_another_process_compares",
            COMPARING + "test_a_switch_that_is_turned_on_meanwhile_leaves_the_pair_for_later",
            COMPARING + "test_a_pair_waits_when_no_process_can_be_started",
            COMPARING + "test_a_document_of_verdicts_that_was_edited_does_no_harm",
            COMPARING + "test_a_bounded_number_of_verdicts_is_kept",
            COMPARING + "test_comparing_can_be_switched_off",
            SIDE_BY_SIDE + "test_nothing_is_run_any_more_once_the_kill_switch_is_on",
            ALIVE + "test_nothing_is_compared_when_that_is_switched_off",
        ),
    ),
    Requirement(
        "FOUND-REGROUP",
        "003",
        "Documents of an older format or rule are grouped again, and keep what was told and which neuron came of them",
        (
            REGROUP + "test_documents_of_the_first_format_are_regrouped_and_keep_what_was_decided",
            REGROUP + "test_many_old_documents_are_regrouped_a_few_at_a_time",
            REGROUP + "test_a_sketch_of_another_rule_is_taken_again_from_the_wordings",
        ),
    ),
    Requirement(
        "FOUND-INDEX",
        "003",
        "A script is recognised among thousands without being compared with all of them",
        (
            INDEX + "test_a_script_is_found_among_thousands_and_compared_with_few",
            INDEX + "test_what_is_dropped_or_replaced_is_not_found",
        ),
    ),
)
