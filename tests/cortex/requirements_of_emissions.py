"""Promises about who is told what a neuron emits. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "EMISSION-TOLD",
        "015",
        "what a neuron emits is told on the console, by the webhook and on the desktop, said in the chat, or starts a "
        "turn; each is one record of the audit",
        ("tests/cortex/learning/test_delivery.py::",),
    ),
    Requirement(
        "NEURONS-RUN",
        "015",
        "a command runs the neurons without a chat: other programs hand over to it, send it signals and get emissions; "
        "after kill -9 at any moment nothing that was told is told again, and what was written and not told is told",
        ("tests/cortex/commands/test_neuron_run.py::",),
    ),
    Requirement(
        "NEURON-NOW",
        "015",
        "programs read in one word whether a neuron runs now, and why not; calls of a function are counted as calls; a "
        "refusal says what to do",
        (
            "tests/cortex/commands/test_neurons_command.py::test_programs_read_in_one_word_whether_a_neuron_runs",
            "tests/cortex/commands/test_neurons_command.py::test_of_a_function_calls_are_counted_and_no_process_is_missed",
            "tests/cortex/commands/test_neurons_command.py::test_refusals_say_what_to_do_or_how_it_is",
        ),
    ),
    Requirement(
        "DRAFT-RIGHT",
        "015",
        "drafts do what the recorded scripts did: what only looks as if it varied is no parameter, and runs of another "
        "form, or that asked for other things, count only where the candidate does the same as none",
        (
            "tests/neurons/habits/test_draft.py::test_drafts_do_what_the_scripts_did_where_the_answers_were_recorded",
            "tests/neurons/habits/test_draft.py::test_what_only_looks_as_if_it_varied_is_no_parameter",
            "tests/neurons/quarantine/test_equality.py::test_runs_that_asked_for_other_things_say_nothing_of_a_neuron_that_does_the_same_as_some",
            "tests/neurons/quarantine/test_equality.py::test_runs_that_give_the_result_in_another_form_say_nothing_of_a_function_that_does_the_same_as_some",
        ),
    ),
    Requirement(
        "MAIL-BAD",
        "015",
        "mail of the home that is torn, huge, deep or of another type is set aside before it is parsed, named in the "
        "log, and holds up neither the event loop nor the mail that follows",
        (
            "tests/neurons/autonomic/test_post_office.py::test_a_document_that_is_no_mail_is_set_aside_and_named_and_mail_goes_on",
            "tests/neurons/autonomic/test_post_office.py::test_the_layer_goes_on_whatever_is_put_into_the_mail",
            "tests/entry_points/test_entry_points.py::test_nothing_that_a_stranger_sends_stops_the_event_loop",
        ),
    ),
    Requirement(
        "CHAT-NEURONS-SPEAK",
        "015",
        "in a chat a neuron can answer what the user says in place of the model, tell the owner something, and say "
        "something by itself, which the model finds in the conversation",
        ("tests/cortex/chat/test_neurons_speak.py::",),
    ),
    Requirement(
        "EMISSION-TAKEN",
        "015",
        "a program takes from the home only what it can say: a chat for one message takes the answer to it, and a "
        "program that ends tells the owner to the end what it has taken",
        (
            "tests/cortex/commands/test_neuron_run.py::test_a_chat_for_one_message_says_the_answer_to_it_and_takes_no_other",
            "tests/neurons/autonomic/test_post_office.py::test_what_a_program_cannot_say_is_left_for_another",
            "tests/neurons/autonomic/test_post_office.py::test_a_program_that_ends_tells_the_owner_to_the_end_what_it_has_taken",
        ),
    ),
)
