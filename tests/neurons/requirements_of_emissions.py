"""Promises about what an emission does. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "EMISSION-WRITTEN-FIRST",
        "015",
        "what an emission does is written with the state and the counts that came of it, in one write, before it leaves; "
        "its text is one bounded line of the owner's template and fields of the data, in which nothing hides",
        ("tests/neurons/autonomic/test_outbox.py::",),
    ),
    Requirement(
        "EMISSION-ONCE",
        "015",
        "an emission is delivered at most once on a home, by one program that can; signals of every program reach the one "
        "that runs the neurons; a program that runs them by chance hands over to one that only does that",
        ("tests/neurons/autonomic/test_post_office.py::",),
    ),
)
