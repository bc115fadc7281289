"""Promises about workflows of MCP clients, the events of runs, and metrics. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

TOOLS = "tests/cortex/mcp_server/test_workflow_tools.py::"
EVENTS = "tests/cortex/workflows/test_events.py::"
METRICS = "tests/cortex/audit/test_metrics.py::"

REQUIREMENTS = (
    Requirement(
        "MCP-WORKFLOWS",
        "002",
        "Clients start, look at and abort workflows where the owner turns that on; the list of tools stays short",
        (
            TOOLS + "test_workflows_are_offered_only_where_the_owner_wants_them",
            TOOLS + "test_what_a_client_is_told_of_workflows_is_short",
            TOOLS + "test_a_run_of_a_client_is_found_again_by_its_id_and_its_key",
            TOOLS + "test_progress_is_told_while_a_call_waits_and_a_cancelled_call_leaves_its_run",
            TOOLS + "test_a_run_outlives_the_server_and_its_client_can_go_on_with_it",
        ),
    ),
    Requirement(
        "MCP-WORKFLOWS-OWNER",
        "workflows 4",
        "A plan of a client needs the owner's consent, never has the owner's authority, and no call answers for the owner",
        (
            TOOLS + "test_a_plan_needs_the_owners_consent_who_is_shown_all_of_it",
            TOOLS + "test_a_plan_waits_where_no_owner_can_be_asked",
            TOOLS + "test_a_tool_that_needs_consent_is_refused_in_a_plan_of_a_client",
            TOOLS + "test_a_decision_of_the_owner_never_travels_over_mcp",
            TOOLS + "test_the_agent_of_the_host_is_not_for_clients_to_ask",
            TOOLS + "test_a_client_is_named_and_never_the_owner",
            TOOLS + "test_the_kill_switch_aborts_runs_of_clients_and_refuses_new_ones",
        ),
    ),
    Requirement(
        "MCP-WORKFLOWS-HOSTILE",
        "workflows 4",
        "A client neither sees nor aborts runs of others, starts few, and cannot fill the memory or play the host",
        (
            TOOLS + "test_a_client_cannot_see_or_abort_runs_of_others",
            TOOLS + "test_an_id_is_a_name_within_one_session",
            TOOLS + "test_runs_of_a_client_are_few",
            TOOLS + "test_starts_of_all_clients_are_bounded",
            TOOLS + "test_a_plan_that_is_too_large_or_wrong_is_an_answer",
            TOOLS + "test_the_text_of_a_plan_cannot_play_the_host",
            TOOLS + "test_results_are_bounded_and_redacted",
        ),
    ),
    Requirement(
        "WORKFLOW-EVENTS-FOLLOWED",
        "002",
        "All kinds of events are stored and announced; many follow a run live, none loses or repeats one, and a slow one "
        "holds few",
        (
            EVENTS + "test_every_kind_of_event_is_stored_with_its_step_and_announced_once_in_order",
            EVENTS + "test_many_who_follow_get_each_of_many_events_once",
            EVENTS + "test_one_who_follows_slowly_holds_few_events",
            EVENTS + "test_events_of_another_process_are_followed",
            EVENTS + "test_a_run_that_began_elsewhere_is_not_announced_as_begun_here",
            METRICS + "test_what_an_event_of_a_workflow_holds_is_weighed",
        ),
    ),
    Requirement(
        "METRICS",
        "002",
        "The metrics of the source document have their names, count what happens, and are bounded whatever code does",
        (
            METRICS + "test_each_metric_has_the_name_that_it_was_given_in_both_forms",
            METRICS + "test_what_happens_is_counted_and_measured",
            METRICS + "test_names_that_code_chooses_make_no_labels",
            METRICS + "test_what_is_no_measure_is_left_out",
            METRICS + "test_threads_count_together",
            METRICS + "test_a_run_in_a_turn_is_measured",
        ),
    ),
)
