"""Promises about the three shapes of what is learned. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "LEARN-SHAPES",
        "015",
        "What is learned is a neuron, a function with parameters, or has a schedule; kind, schedules, emission and schemas "
        "are part of what the owner approves, and approvals from before them stay valid",
        (
            "tests/neurons/contracts/test_schedule.py::",
            "tests/neurons/pipeline/test_function_schema.py::",
            "tests/neurons/pipeline/test_hashes.py::test_each_part_of_the_policy_counts",
            "tests/neurons/pipeline/test_hashes.py::test_the_hash_of_a_policy_without_later_fields_is_what_it_was_before_they_existed",
        ),
    ),
    Requirement(
        "LEARN-SCHEDULES",
        "015",
        "Schedules are right across time zones and changes of the clock; missed ones are told once and not flooded; none is "
        "delivered twice, whatever is killed",
        ("tests/neurons/contracts/test_due_times.py::", "tests/neurons/autonomic/test_timetable.py::"),
    ),
)
