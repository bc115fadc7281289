"""Promises about comparing candidates with the record. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

RECORDED = "tests/neurons/habits/test_recordings.py::"

REQUIREMENTS = (
    Requirement(
        "EQUAL-WORLD",
        "015",
        "Programs that are compared are given one clock and one seed: each signal finds the clock at its own time",
        ("tests/sandbox/resident/test_repeatable_residents.py::",),
    ),
    Requirement(
        "EQUAL-RECORD",
        "015",
        "A recorded run keeps its script, without keys and within the limit of a recording",
        (
            f"{RECORDED}test_the_script_is_kept_with_its_run_and_without_keys",
            f"{RECORDED}test_a_script_that_does_not_fit_is_left_out_and_one_from_before_has_none",
        ),
    ),
    Requirement(
        "EQUAL-COMPARED",
        "015",
        "A candidate is run against the recorded scripts of its habit and changed inputs, with nothing real called: 30 "
        "wrong ones are caught, 30 right ones pass; a difference rejects only what the agent said comes of the habit",
        (
            "tests/neurons/quarantine/test_equality.py::",
            "tests/neurons/quarantine/test_equality_parts.py::",
            "tests/neurons/habits/test_literals.py::",
        ),
    ),
    Requirement(
        "EQUAL-NIGHTLY",
        "015",
        "What is awake is compared with new recordings once a day by one process; a difference or a changed schema of a tool "
        "disables it with the reason",
        ("tests/neurons/quarantine/test_nightly.py::",),
    ),
    Requirement(
        "EQUAL-LINE",
        "015",
        "The owner reads in one line how many inputs were compared, how many were equal and what could not be repeated",
        ("tests/neurons/contracts/test_equality.py::",),
    ),
)
