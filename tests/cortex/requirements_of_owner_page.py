"""What an owner is shown and told. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

PAGE = "tests/cortex/channels/test_owner_page.py::"
READABLE = "tests/neurons/pipeline/test_readable.py::"
COMMAND = "tests/cortex/commands/test_neurons_command.py::"

REQUIREMENTS = (
    Requirement(
        "OWNER-SENTENCE",
        "015",
        "The owner's page begins with a sentence made from facts and with the cost of a day; every text is a snapshot, "
        "within 80 columns, and the same in shell, chat, webhook and demo",
        (
            PAGE + "test_the_page_is_the_bytes_of_the_snapshot",
            PAGE + "test_no_line_is_wider_than_a_terminal",
            PAGE + "test_no_word_of_the_agent_is_in_the_sentence",
            PAGE + "test_the_cost_of_a_day_is_that_of_its_schedules_and_of_the_clock",
            PAGE + "test_the_webhook_has_the_page_of_the_terminal",
        ),
    ),
    Requirement(
        "OWNER-REACH",
        "015",
        "The page shows who hears what a neuron emits, through whom, and what those may reach",
        (PAGE + "test_a_ring_of_neurons_that_hear_each_other_is_shown_once_and_many_are_counted",),
    ),
    Requirement(
        "OWNER-DIFFERENCE",
        "015",
        "A new version is shown with the difference against the last approved one, code and rights; an old approval is "
        "not printed below an open question",
        (
            PAGE + "test_the_difference_is_against_what_was_approved_and_not_against_what_a_document_says_of_it",
            PAGE + "test_hidden_characters_are_spelled_out_in_the_difference",
            COMMAND + "test_below_an_open_question_no_earlier_approval_is_shown",
        ),
    ),
    Requirement(
        "OWNER-READABLE",
        "015",
        "Code that is too long or mostly comment is not proposed, nor a name that is nearly that of another",
        (READABLE,),
    ),
    Requirement(
        "OWNER-MODIFY",
        "015",
        "To modify an awake neuron says before the editor opens that it will rest",
        (COMMAND + "test_modifying_an_awake_neuron_says_first_that_it_will_rest",),
    ),
    Requirement(
        "STATS",
        "015",
        "cortex stats answers from audit, ledger and documents whether hands, network, habits and what was learned are "
        "used, as a table, a plot and JSON; bounded on a large audit, empty on an empty home",
        (
            "tests/cortex/show/test_usage.py::",
            "tests/cortex/commands/test_stats_command.py::",
        ),
    ),
    Requirement(
        "SKILL-IMPORT",
        "015",
        "A skill with a script is imported as a proposal like any other: read within bounds, without links, run by "
        "nothing; an export is the same code and policy on another home",
        ("tests/cortex/commands/test_skill_import.py::",),
    ),
    Requirement(
        "NEURONS-WORTH",
        "015",
        "cortex neurons shows for each what it was good for: model calls saved, its last emission and who was told, energy "
        "a day, the next run; a look imports only what it shows",
        (
            COMMAND + "test_each_one_says_what_it_was_good_for",
            COMMAND + "test_the_energy_of_a_day_is_measured_once_an_hour_has_passed",
            COMMAND + "test_a_look_imports_nothing_that_only_decisions_need",
            "tests/cortex/commands/test_light_looks.py::test_a_look_imports_nothing_that_only_runs_and_decisions_need",
            "tests/cortex/commands/test_light_looks.py::test_the_program_does_not_look_for_garbage_while_it_imports",
        ),
    ),
    Requirement(
        "OWNER-OUTCOMES",
        "015",
        "The owner is told once, by each channel, that a neuron was stopped and why, that it has passed its trial, and that a "
        "question expires; a kill loses nothing of it",
        ("tests/cortex/learning/test_owner_outcomes.py::",),
    ),
)
