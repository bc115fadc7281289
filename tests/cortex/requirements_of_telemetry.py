"""The promises about metrics and traces: what they count, what they never hold, and what they cost. Part of
`tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

EXPOSITION = "tests/cortex/telemetry/test_exposition.py::"
FOLD = "tests/cortex/telemetry/test_fold.py::"
PAGE = "tests/cortex/telemetry/test_telemetry_docs.py::"
OF_HOME = "tests/cortex/telemetry/test_home_metrics.py::"

TRACE = "tests/cortex/telemetry/test_tracing.py::"
NAMES = "tests/cortex/telemetry/test_span_names.py::"
EXAMPLE = "tests/examples/test_telemetry.py::"
SCRAPE = "tests/cortex/console/test_metrics_page.py::"

SETTINGS = {
    "telemetry": {
        "traces": TRACE + "test_without_an_sdk_or_with_traces_off_there_is_no_tracing",
        "neuron_every": TRACE + "test_deliveries_to_neurons_are_traces_of_their_own_and_few_are_drawn",
        "content": TRACE + "test_content_is_in_spans_only_if_the_owner_wants_it_and_then_without_secrets_and_short",
    }
}

REQUIREMENTS = (
    Requirement(
        "TRACES-TREE",
        "console 6",
        "A turn is one tree: agent, calls, runs, their calls of tools and requests, each below what made it",
        (
            TRACE + "test_a_turn_is_one_tree_from_the_agent_to_each_call_and_request",
            TRACE + "test_runs_at_the_same_time_have_trees_of_their_own",
            TRACE + "test_a_workflow_is_no_part_of_the_turn_that_opened_workflows",
            TRACE + "test_a_call_from_a_task_that_knows_nothing_of_its_run_stands_below_it",
            TRACE + "test_two_turns_are_two_traces_and_leave_the_context_as_it_was",
            TRACE + "test_the_spans_of_the_mcp_sdk_stand_below_ours_and_are_not_drawn_twice",
            TRACE + "test_requests_to_the_model_are_spans_of_the_turn_without_what_was_said",
            TRACE + "test_runs_that_fail_and_requests_that_are_refused_have_their_reason",
            TRACE + "test_a_kill_and_a_question_to_the_owner_are_events",
            TRACE + "test_a_cancelled_run_ends_its_spans",
            TRACE + "test_a_run_is_found_by_its_trace",
        ),
    ),
    Requirement(
        "TRACES-NEURONS",
        "console 6",
        "Deliveries to neurons are traces of their own, and of many only as few are drawn as the settings say",
        (
            TRACE + "test_deliveries_to_neurons_are_traces_of_their_own_and_few_are_drawn",
            TRACE + "test_one_delivery_in_as_many_as_the_settings_say_is_drawn",
        ),
    ),
    Requirement(
        "TRACES-NAMES",
        "console 6",
        "Names of spans and attributes are those of the conventions that are pinned, and are on the page about telemetry",
        (
            NAMES + "test_a_name_is_as_the_conventions_have_it",
            NAMES + "test_the_page_about_telemetry_names_each_attribute",
            NAMES + "test_names_that_may_change_with_a_version_are_not_imported",
        ),
    ),
    Requirement(
        "TRACES-OFF",
        "console 6",
        "Without an SDK nothing is drawn and nothing loaded; a dead collector delays nothing, and what it lost is counted",
        (
            TRACE + "test_a_program_without_opentelemetry_does_not_load_it",
            TRACE + "test_spans_that_nobody_samples_cost_no_attributes_and_leave_no_trace_in_the_record",
            TRACE + "test_a_dead_collector_delays_no_run_and_what_it_lost_is_counted",
            "tests/test_benchmarks.py::test_the_benchmark_of_telemetry_measures_off_api_sdk_and_a_scrape",
        ),
    ),
    Requirement(
        "TELEMETRY-EXAMPLE",
        "console 6",
        "A dashboard, alerts, a collector and a program stand ready, and name only metrics, labels and ports that there are",
        (
            EXAMPLE + "test_each_metric_and_label_of_an_expression_is_one_that_is_printed",
            EXAMPLE + "test_the_dashboard_has_a_panel_for_each_metric_and_no_two_in_one_place",
            EXAMPLE + "test_the_files_of_the_example_fit_together",
            EXAMPLE + "test_the_program_sends_a_trace",
        ),
    ),
    Requirement(
        "METRICS-SCRAPE",
        "console 6",
        "The console serves the metrics only if the owner said so, to monitoring systems that show the token of the home",
        (
            SCRAPE + "test_a_monitoring_system_with_the_token_gets_the_metrics",
            SCRAPE + "test_an_attack_on_the_metrics_is_refused_by_one_check",
            SCRAPE + "test_the_metrics_can_only_be_read",
            SCRAPE + "test_a_session_opens_no_metrics_and_the_token_opens_no_page",
            SCRAPE + "test_the_token_is_private_and_a_new_one_counts_at_once",
            SCRAPE + "test_a_token_that_leads_elsewhere_lets_nobody_in",
            SCRAPE + "test_a_long_audit_is_summed_up_over_several_scrapes",
            SCRAPE + "test_a_head_has_no_body",
            SCRAPE + "test_the_command_prints_the_token",
            PAGE + "test_the_configuration_of_prometheus_asks_at_the_port_of_the_settings",
        ),
    ),
    Requirement(
        "METRICS-CLEAN",
        "console 6",
        "Prometheus reads the metrics: names, types, units, help, escaped labels, buckets that rise",
        (
            EXPOSITION + "test_a_metric_is_named_as_prometheus_wants_it",
            EXPOSITION + "test_the_parser_of_prometheus_reads_every_metric_with_its_type_and_help",
            EXPOSITION + "test_every_text_in_a_label_comes_back_as_it_was",
            EXPOSITION + "test_the_buckets_of_a_histogram_rise_to_its_count",
            EXPOSITION + "test_what_is_no_number_of_at_least_0_is_not_counted",
            EXPOSITION + "test_the_json_for_programs_has_every_metric",
            OF_HOME + "test_the_command_prints_text_for_prometheus_and_json_for_programs",
        ),
    ),
    Requirement(
        "METRICS-SEED",
        "seed 001",
        "The metrics of the source documents are there, and each is named in the help of the one that has its numbers",
        (
            EXPOSITION + "test_the_help_of_a_metric_names_the_one_of_the_source_documents",
            PAGE + "test_the_table_of_metrics_names_each_with_its_type_labels_and_seed",
            FOLD + "test_a_run_is_counted_by_how_it_ended",
            FOLD + "test_a_refused_request_is_counted_and_one_for_another_tool_is_not",
            FOLD + "test_a_failure_is_counted_by_its_kind",
            FOLD + "test_a_run_is_measured_and_one_from_the_cache_is_not",
            FOLD + "test_lent_tools_and_answers_of_the_owner_are_counted",
            FOLD + "test_a_kind_of_failure_that_nobody_knows_is_an_other_one",
        ),
    ),
    Requirement(
        "METRICS-LABELS",
        "console 6",
        "No label holds a text of an agent, a server or a stranger, and labels have at most fifty values",
        (
            FOLD + "test_no_text_of_an_agent_is_in_the_metrics",
            FOLD + "test_a_tool_call_is_counted_by_its_server_and_never_by_its_name",
            FOLD + "test_at_most_fifty_servers_have_series_of_their_own",
            OF_HOME + "test_neurons_are_counted_by_status_and_only_those_of_the_owner_are_named",
            OF_HOME + "test_a_neuron_that_waits_for_the_owner_is_counted_and_not_named",
        ),
    ),
    Requirement(
        "METRICS-HOME",
        "console 6",
        "One page has the runs of all processes of a home, and counters rise over restarts and deleted days",
        (
            OF_HOME + "test_runs_of_several_processes_are_in_one_page",
            OF_HOME + "test_the_next_process_goes_on_where_the_last_one_stopped",
            OF_HOME + "test_what_was_counted_stays_when_old_days_are_deleted",
            OF_HOME + "test_another_audit_is_counted_from_its_beginning",
            OF_HOME + "test_the_metrics_of_a_running_console_follow_the_home",
            OF_HOME + "test_the_ledger_is_read_once_and_a_rolled_one_goes_on",
            OF_HOME + "test_a_place_in_the_ledger_moves_by_whole_lines",
            OF_HOME + "test_the_kill_switch_and_the_last_record_are_shown",
            OF_HOME + "test_a_call_that_a_program_asks_about_is_counted",
            FOLD + "test_any_facts_can_be_folded_and_no_counter_falls",
            FOLD + "test_a_record_with_strange_numbers_is_counted_and_stops_nothing",
            FOLD + "test_energy_that_comes_back_never_lowers_what_was_spent",
            FOLD + "test_energy_is_counted_by_what_spent_it_and_the_owners_changes_are_not",
        ),
    ),
    Requirement(
        "METRICS-CACHE",
        "console 6",
        "What was added up is kept in the cache, which may be deleted or damaged and is never the truth",
        (
            EXPOSITION + "test_what_is_kept_as_json_comes_back",
            OF_HOME + "test_a_deleted_cache_is_made_again",
            OF_HOME + "test_a_damaged_cache_is_made_again",
            OF_HOME + "test_an_empty_home_has_metrics_and_stays_empty",
            OF_HOME + "test_a_part_that_cannot_be_read_takes_nothing_else_with_it",
        ),
    ),
)
