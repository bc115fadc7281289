"""Each promise of the inbox, where questions to the owner wait for answers, and the tests that hold us to it. Part of
`tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

ANSWERS = "tests/cortex/inbox/test_answers.py::"
ATTACKS = "tests/cortex/inbox/test_attacks.py::"
OWNER = "tests/cortex/inbox/test_inbox_owner.py::"
FUNCTIONS = "tests/cortex/learning/test_learned_functions.py::"
TOGETHER = "tests/cortex/inbox/test_together.py::"
GRANTS = "tests/cortex/inbox/test_grants.py::"
WEBHOOK = "tests/cortex/inbox/test_webhook_answers.py::"

REQUIREMENTS = (
    Requirement(
        "INBOX-1",
        "inbox",
        "What is asked of the owner is a document of the home, with all that the owner needs and without secrets; it is "
        "answered from any shell, and the program goes on; who decided is in the audit",
        (
            ANSWERS + "test_a_question_is_answered_from_another_shell_and_the_program_goes_on",
            ANSWERS + "test_a_no_needs_no_hash_and_its_reason_reaches_the_model",
            ANSWERS + "test_a_yes_without_the_hash_of_what_was_shown_is_refused",
            ANSWERS + "test_no_such_question",
            OWNER + "test_an_answer_that_cannot_be_recorded_is_not_given",
            FUNCTIONS + "test_what_the_program_calls_and_the_owner_is_asked_about_is_kept_without_secrets_and_recorded",
        ),
    ),
    Requirement(
        "INBOX-2",
        "inbox",
        "The program's own way of asking and the inbox stand side by side: the first answer counts, a second one says so",
        (
            OWNER + "test_the_inbox_answers_while_a_person_is_asked_who_then_is_asked_no_more",
            OWNER + "test_the_person_answers_and_the_document_says_so",
            OWNER + "test_the_first_answer_wins_against_a_person_who_is_later",
            OWNER + "test_an_owner_who_fails_is_no_yes_and_the_question_is_closed",
            OWNER + "test_questions_of_one_turn_stand_side_by_side_in_the_inbox",
            ANSWERS + "test_of_two_shells_that_answer_at_once_the_first_wins_and_the_second_says_so",
        ),
    ),
    Requirement(
        "INBOX-3",
        "inbox",
        "A question whose time is over, or whose program was killed, is stopped or has left it, is shown as that and takes "
        "no answer",
        (
            ANSWERS + "test_what_a_killed_program_asked_is_shown_as_that_and_takes_no_answer",
            ANSWERS + "test_a_question_that_nobody_answers_is_closed_when_its_time_is_over",
            ANSWERS + "test_a_program_that_does_not_respond_takes_no_late_answer",
            OWNER + "test_a_cancelled_turn_withdraws_its_question",
        ),
    ),
    Requirement(
        "INBOX-4",
        "inbox",
        "An answer is signed and bound to the hash of one question: forged, replayed and flipped ones are none, and neither "
        "is an answer to an edited question; nothing that a model or a client says is one, and code is never given the home",
        (
            ATTACKS,
            "tests/cortex/inbox/test_who_answers.py::",
            "tests/cortex/turn/test_files.py::test_the_home_of_the_cortex_is_never_in_a_workspace",
        ),
    ),
    Requirement(
        "INBOX-TOGETHER",
        "inbox",
        "Several calls of one tool by one run that wait at the same time are one question, with what differs between marks: "
        "all, some by number, or none; an answer is to exactly those that were shown",
        (
            TOGETHER,
            "tests/cortex/chat/test_turns.py::test_several_calls_of_a_tool_are_one_question_and_numbers_allow_some",
        ),
    ),
    Requirement(
        "INBOX-GRANTS",
        "inbox",
        "A yes may hold for a run, a conversation or always, until a date, at most N times over all processes and kills, for "
        "arguments that match; it is bound to tool, arguments and policy, listed, revoked, signed and audited",
        (GRANTS,),
    ),
    Requirement(
        "INBOX-WEBHOOK",
        "inbox",
        "If the owner says so, the webhook is sent each question, and answers it in its response: signed, for that question "
        "alone; nothing else that comes back is an answer, and no port is opened",
        (WEBHOOK,),
    ),
    Requirement(
        "INBOX-5",
        "inbox",
        "Questions are bounded in number, bytes and age",
        (
            OWNER + "test_more_questions_than_are_kept_are_asked_where_the_program_runs",
            OWNER + "test_long_arguments_are_cut_and_what_is_left_out_is_counted",
            OWNER + "test_old_questions_make_way",
        ),
    ),
    Requirement(
        "INBOX-7",
        "inbox",
        "While the kill switch is on, nothing is allowed in any shell or page, and a yes from before it does nothing",
        (
            ANSWERS + "test_while_the_kill_switch_is_on_nothing_is_allowed_and_no_is_still_taken",
            ANSWERS + "test_a_yes_from_before_the_kill_switch_does_nothing_after_it",
        ),
    ),
    Requirement(
        "INBOX-6",
        "inbox",
        "No arguments, however many or long, keep the event loop busy when the owner is asked about them",
        (TOGETHER + "test_no_arguments_keep_the_event_loop_busy",),
    ),
)

SETTINGS = {
    "inbox": {
        "enabled": OWNER + "test_a_disabled_inbox_keeps_no_question",
        "unattended": OWNER + "test_without_anybody_a_program_refuses_at_once_unless_it_is_to_wait",
        "max_together": TOGETHER + "test_calls_that_wait_together_count_as_one_question_up_to_the_setting",
        "webhook": WEBHOOK + "test_without_the_setting_or_an_address_no_question_is_sent",
        "webhook_poll_s": WEBHOOK + "test_it_is_asked_again_after_the_time_of_the_setting",
        "max_open": OWNER + "test_more_questions_than_are_kept_are_asked_where_the_program_runs",
    },
}
