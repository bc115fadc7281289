"""The promises that close ways around the owner's consent, and the tests that hold us to them. Part of
`tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

TEXT = "tests/escapes/test_code_from_text.py::"
GUARD = "tests/sandbox/guard/test_guard.py::"
KILL = "tests/cortex/commands/test_kill_command.py::"
PRIORITY = "tests/sandbox/process/test_priority.py::"
SPENT = "tests/sandbox/resident/test_spent.py::"
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
)
