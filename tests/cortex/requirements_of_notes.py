"""Promises about what the model is told beside its answers. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

NOTES = "tests/cortex/turn/test_notes.py::"
TOLD = "tests/cortex/learning/test_told_once.py::"

REQUIREMENTS = (
    Requirement(
        "NOTE-UNTOLD",
        "015",
        "A habit stays untold until it was told, once, once a day in one process or in many",
        (
            "tests/neurons/habits/test_offers.py::",
            f"{TOLD}test_a_script_that_runs_once_a_day_in_one_process_is_told_once",
            f"{TOLD}test_a_script_that_runs_once_a_day_in_a_process_of_its_own_is_told_once",
            f"{TOLD}test_of_two_processes_that_answer_at_once_one_tells_the_habit",
        ),
    ),
    Requirement(
        "NOTE-EVERY-WAY",
        "015",
        "Every way into a turn carries a note: below the reply of turn.call, apart in turn.answer and execute_code, as a "
        "text of its own for MCP clients",
        (
            f"{NOTES}test_a_string_for_the_model_has_the_note_below_it_and_its_first_line_stays_the_reply",
            f"{NOTES}test_code_for_a_program_is_answered_with_the_note_apart",
            f"{NOTES}test_a_refused_call_carries_a_note_too",
            f"{TOLD}test_every_way_into_a_turn_tells_a_habit",
            f"{TOLD}test_a_client_gets_a_note_as_a_text_of_its_own",
        ),
    ),
    Requirement(
        "NOTE-ARRIVED",
        "015",
        "A note whose delivery failed is given back",
        (
            f"{NOTES}test_a_note_of_a_turn_that_was_cancelled_is_given_back_and_told_again",
            f"{NOTES}test_a_note_before_another_call_has_arrived_though_the_turn_ends_badly",
            f"{NOTES}test_what_a_turn_that_is_never_left_has_told_counts_as_told_when_the_process_ends",
        ),
    ),
    Requirement(
        "NOTE-COST",
        "015",
        "An answer without a note waits for no disk: what there is to tell is looked for in the background, by change "
        "stamps",
        (
            f"{NOTES}test_a_source_is_read_once_while_nothing_changes_there",
            f"{NOTES}test_a_source_that_fails_ends_nothing_and_is_asked_again",
            f"{TOLD}test_an_answer_without_a_note_touches_no_habit_on_disk",
        ),
    ),
    Requirement(
        "NOTE-DRAFT",
        "015",
        "A habit comes with a ready draft: code, parameters that varied with the types that were seen, the result that its "
        "runs gave, a budget by what they cost, reach, schedule; its id alone proposes it, and a note about it holds no "
        "value of the user's",
        (
            "tests/neurons/habits/test_draft.py::",
            "tests/neurons/habits/test_value_schemas.py::",
            "tests/cortex/learning/test_drafts.py::",
        ),
    ),
    Requirement(
        "NOTE-OUTCOME",
        "015",
        "What became of a proposal comes back to the model once, with the reason as data; the same failing code is not "
        "taken again under another name",
        ("tests/cortex/learning/test_outcome_notes.py::",),
    ),
)
