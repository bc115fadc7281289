"""The promises of what a model may do with workflows: propose plans, and answer what a run asks it."""

from __future__ import annotations

from tests.requirement import Requirement

TOLD = "tests/cortex/workflows/test_plan_text.py::"
PROPOSED = "tests/cortex/workflows/test_proposals.py::"
DESK = "tests/cortex/workflows/test_agent_desk.py::"
REACH = "tests/cortex/workflows/test_reach.py::"
TOOLS = "tests/cortex/tools/test_openai_tools.py::"

REQUIREMENTS = (
    Requirement(
        "WORKFLOW-PLAN-TEXT",
        "workflows 4",
        "The owner sees a plan as a picture of its layers, with all that each task would do and the energy that it takes",
        (
            TOLD + "test_the_picture_has_a_line_for_each_task_in_its_layer",
            TOLD + "test_the_owner_sees_what_each_task_would_do",
            TOLD + "test_hosts_files_and_narrower_limits_are_told",
            TOLD + "test_the_energy_is_told_without_and_with_all_retries",
        ),
    ),
    Requirement(
        "WORKFLOW-PLAN-TEXT-SAFE",
        "workflows 4",
        "No text of a plan controls a terminal, passes for ours or hides code; what is cut is told with its hash, and the "
        "hash of the text stands for the plan",
        (
            TOLD + "test_no_text_of_the_author_controls_a_terminal_or_passes_for_a_line_of_ours",
            TOLD + "test_a_long_code_is_shown_in_part_with_the_hash_of_the_whole",
            TOLD + "test_the_largest_plan_is_told_in_bounded_text_with_a_hash_for_all_that_is_cut",
            TOLD + "test_different_plans_have_different_hashes_and_the_same_plan_always_the_same",
        ),
    ),
    Requirement(
        "WORKFLOW-CORE-PLAN",
        "workflows 4",
        "A model proposes a plan with core.plan and is told which run waits or has started, never a result; nothing of it "
        "begins before the owner, or the owner's policy, says yes to exactly this plan",
        (
            PROPOSED + "test_without_an_owner_to_ask_the_run_waits_and_goes_on_when_it_is_approved",
            PROPOSED + "test_the_owner_port_is_shown_the_plan_and_its_yes_starts_the_run",
            PROPOSED + "test_a_no_of_the_owner_ends_the_run_before_anything_has_run",
            PROPOSED + "test_an_owner_who_is_not_there_has_not_said_no",
            PROPOSED + "test_with_the_policy_allow_a_plan_starts_at_once_and_stricter_tools_are_still_asked_about",
            PROPOSED + "test_nothing_of_an_agents_run_begins_in_another_process_either_until_it_is_approved",
            PROPOSED + "test_a_run_whose_process_died_before_the_owner_was_asked_asks_first",
            PROPOSED + "test_a_program_that_starts_a_run_as_the_agent_has_no_more_authority_than_it",
            TOOLS + "test_plans_are_told_in_what_is_left_of_a_thousand_tokens_and_only_where_they_are_possible",
        ),
    ),
    Requirement(
        "WORKFLOW-CORE-PLAN-BOUNDS",
        "workflows 4",
        "A plan that is not sound is answered with its own error and leaves nothing; a model cannot flood the owner",
        (
            PROPOSED + "test_a_plan_that_is_not_sound_is_answered_with_its_error_and_nothing_is_kept",
            PROPOSED + "test_a_model_cannot_flood_the_owner_with_plans",
            PROPOSED + "test_a_run_of_the_agent_takes_no_more_energy_than_the_owner_was_shown",
        ),
    ),
    Requirement(
        "WORKFLOW-AGENT-DECISION",
        "workflows 4",
        "A decision by the agent starts one turn with its question, redacted, and is answered there; on record as the "
        "agent's; without an agent the run waits and says so, and the owner can answer",
        (
            DESK + "test_the_question_starts_one_turn_and_the_agents_answer_is_on_record",
            DESK + "test_the_agent_answers_with_a_value_or_a_new_plan",
            DESK + "test_an_answer_that_does_not_fit_is_told_and_the_next_one_counts",
            DESK + "test_without_an_agent_the_run_says_so_and_the_owner_answers_instead",
            DESK + "test_a_turn_without_an_answer_leaves_the_run_waiting_and_is_not_repeated_until_it_is_resumed",
            DESK + "test_a_wake_that_fails_does_not_end_the_run_and_wakes_have_their_number",
            DESK + "test_a_model_in_a_chat_reads_the_question_redacted_and_answers_it",
        ),
    ),
    Requirement(
        "WORKFLOW-AGENT-TOOL",
        "workflows 4",
        "core.decide exists only in the turn of a question, and only for it; a decision by the owner has no tool",
        (DESK + "test_the_tool_exists_only_in_the_turn_of_a_question_and_only_for_it",),
    ),
    Requirement(
        "WORKFLOW-AGENT-REPLAN",
        "workflows 4",
        "An agent's replan reaches no further than the plan, adds no tool of a stricter policy, and never gets past a "
        "decision of the owner",
        (
            REACH + "test_an_agent_adds_what_the_plan_does_already_and_plain_code",
            REACH + "test_an_agent_reaches_no_further_than_the_plan_and_never_past_the_owner",
            DESK + "test_an_answer_of_the_agent_that_came_past_the_door_is_checked_again_when_it_is_heard",
            REACH + "test_a_stricter_tool_of_the_plan_lets_others_be_as_strict_and_no_stricter",
        ),
    ),
)

SETTINGS = {
    "workflows": {
        "plan": PROPOSED + "test_a_plan_is_offered_where_the_setting_says_so_and_taken_unless_the_policy_denies_it"
    }
}
