"""Promises about learned functions. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "FUNCTIONS-CALL",
        "015",
        "A learned function has code with arguments and gives back its result, bounded; it has no state, emits nothing, and "
        "reaches the tools and hosts that were approved and no other function; an error that it throws is an answer, and "
        "only what costs its process is a fault",
        ("tests/neurons/functions/test_calling.py::",),
    ),
)
