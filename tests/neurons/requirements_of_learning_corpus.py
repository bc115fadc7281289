"""What the corpus that habits are measured on promises, and its tests. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

HERE = "tests/neurons/test_learning_corpus.py::"

REQUIREMENTS = (
    Requirement(
        "LEARNING-CORPUS",
        "003",
        "habits are tuned and measured on programs of many styles that do the same, and on pairs that look alike and do not",
        (
            f"{HERE}test_each_family_is_written_as_often_as_it_should_and_in_different_styles",
            f"{HERE}test_there_are_enough_families_to_tune_on_and_to_measure",
            f"{HERE}test_no_program_and_no_name_is_there_twice",
            f"{HERE}test_every_program_is_typescript",
            f"{HERE}test_a_month_is_the_same_for_a_seed_and_has_many_habits",
            f"{HERE}test_all_programs_of_a_family_give_the_same_answer",
        ),
    ),
)
