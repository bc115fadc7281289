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
)
