"""Requirements about the host's own time and memory, and about the kill switch under load, each with its tests. Part of
`tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

ESCAPES = "tests/escapes/test_escapes.py::test_the_property_of_an_escape_program_holds"
ENTRY = "tests/entry_points/test_entry_points.py::"
WIRES = "tests/entry_points/test_wires.py::"
KILL = "tests/cortex/commands/test_kill_command.py::"
PRIORITY = "tests/sandbox/process/test_priority.py::"
METER = "tests/sandbox/contracts/test_json_meter.py::"
WIRE = "tests/cortex/mcp_client/test_wire.py::"
HTTP = "tests/cortex/mcp_server/test_http.py::"
CROWD = "tests/cortex/mcp_server/test_http_crowd.py::"
ROOM = "tests/sandbox/run/test_memory_room.py::"
FITTING = "tests/cortex/tools/test_fitting.py::"
TOOLS = "tests/sandbox/test_tools.py::"
OPEN = "tests/cortex/mcp_server/test_open_requests.py::"
WORK = "tests/cortex/tools/test_validation_work.py::"
HASHED = "tests/cortex/tools/test_hashed.py::"

REQUIREMENTS = (
    Requirement(
        "HOST-1",
        "design",
        "No entry point of the host takes the event loop for more than 200 ms, or 64 MB, at its largest accepted input",
        (
            ENTRY + "test_nothing_that_a_stranger_sends_stops_the_event_loop",
            ENTRY + "test_nor_does_anything_else",
            WIRES + "test_what_an_mcp_server_says_through_its_pipes",
            WIRES + "test_what_an_mcp_server_says_over_http",
            WIRES + "test_what_an_mcp_client_says_through_its_pipes",
            WIRES + "test_what_an_mcp_client_says_over_http",
            WIRES + "test_what_an_endpoint_of_a_model_says",
            WIRES + "test_what_the_address_of_a_webhook_says",
            WIRES + "test_how_an_http_request_is_cut_makes_no_difference",
            WIRES + "test_noise_of_an_mcp_server_lets_others_have_their_turn",
            WIRES + "test_the_sdk_is_loaded_while_others_have_their_turn",
            WIRES + "test_many_who_connect_at_once",
        ),
    ),
    Requirement(
        "HOST-2",
        "design",
        "A new place that parses or validates something must be in the table of entry points",
        (ENTRY + "test_every_place_that_reads_something_is_driven_or_says_why_not",),
    ),
    Requirement(
        "HOST-3",
        "design",
        "Integers of more than 53 bits in uniqueItems, and numbers that collide in Python's sets, are counted and refused",
        (
            ESCAPES,
            "tests/sandbox/tool_types/test_schema_check.py::test_numbers_that_must_be_unique_are_wide_beyond_53_bits",
            HASHED + "test_parameters_open_to_hash_collisions_are_recognised",
            HASHED + "test_texts_and_lists_are_not_open_to_hash_collisions",
            HASHED + "test_values_that_collide_are_refused_before_they_are_hashed",
            HASHED + "test_a_set_with_as_many_values_as_allowed_is_accepted",
            HASHED + "test_a_list_may_have_more_values_than_a_set",
            HASHED + "test_objects_that_python_compares_weigh_twice_as_much",
            HASHED + "test_all_parameters_of_a_call_are_counted_together",
        ),
    ),
    Requirement(
        "HOST-4",
        "design",
        "A value is folded once for all choices of an enum, and only when it is no longer than they are",
        (
            ESCAPES,
            FITTING + "test_what_is_meant_without_doubt_is_taken",
            FITTING + "test_no_value_and_no_schema_takes_long",
            FITTING + "test_what_takes_too_many_steps_is_left_as_it_is",
            FITTING + "test_a_schema_that_leads_back_to_itself_has_an_end",
        ),
    ),
    Requirement(
        "HOST-5",
        "design",
        "The structure of a JSON text is counted before it is parsed, exactly and wherever it is cut",
        (
            METER + "test_a_text_is_counted_exactly_wherever_it_is_cut",
            METER + "test_a_text_that_is_not_json_is_never_counted_as_less_than_a_parser_makes_of_its_beginning",
            METER + "test_what_is_over_a_limit_is_refused_and_what_is_at_it_is_parsed",
            METER + "test_brackets_and_commas_in_strings_count_for_nothing",
            METER + "test_a_meter_can_begin_with_the_next_text_in_the_middle_of_one",
            METER + "test_numbers_are_bounded_by_the_parser_itself",
        ),
    ),
    Requirement(
        "HOST-6",
        "design",
        "An MCP message that holds too much is refused by its id, over stdio and HTTP, to a server and from one",
        (
            WIRE + "test_a_line_that_holds_too_much_is_refused_wherever_it_is_cut",
            WIRE + "test_an_answer_that_is_too_complex_is_an_error_for_the_caller_that_waits_for_it",
            WIRE + "test_each_event_of_a_stream_is_counted_by_itself",
            WIRE + "test_no_line_hides_the_next_one_in_a_string",
            WIRE + "test_where_a_stream_is_cut_makes_no_difference",
            WIRE + "test_an_event_of_very_many_lines_is_refused",
            WIRE + "test_lines_are_the_same_however_they_are_cut",
            WIRE + "test_a_message_of_ordinary_size_is_read",
            CROWD + "test_a_message_that_holds_too_much_is_refused_by_its_id",
            CROWD + "test_bodies_that_are_too_large_together_are_told_to_retry_later",
            "tests/cortex/mcp_server/test_stdio.py::test_a_message_that_holds_too_much_is_refused_by_its_id",
        ),
    ),
    Requirement(
        "HOST-7",
        "design",
        "Names whose resolver never answers keep no other run from its lookup",
        (
            "tests/sandbox/network/test_connections.py::test_names_that_no_server_answers_keep_no_other_run_from_its_lookup",
            "tests/sandbox/network/test_connections.py::test_a_domain_is_the_registered_part_of_a_host_name",
        ),
    ),
    Requirement(
        "HOST-8",
        "design",
        "Nothing in the sandbox says where Deno lies on the host, and a Worker is told that there are none",
        (ESCAPES, "tests/sandbox/process/test_command.py::"),
    ),
    Requirement(
        "HOST-9",
        "design",
        "Silent connections without a token keep no client of the HTTP server out",
        (
            CROWD + "test_a_connection_without_the_token_has_a_shorter_timeout",
            CROWD + "test_silent_connections_keep_no_client_out",
            CROWD + "test_a_new_connection_has_a_moment_to_send_its_request_before_it_is_closed",
            CROWD + "test_requests_beyond_the_limit_are_told_to_retry_later",
        ),
    ),
    Requirement(
        "HOST-10",
        "design",
        "Places are given out by the memory that is available, and the kernel ends workers before the host",
        (
            ROOM + "test_what_others_were_promised_is_theirs",
            ROOM + "test_this_machine_tells_what_it_has",
            ROOM + "test_the_innermost_group_with_a_limit_counts",
            ROOM + "test_what_a_group_may_still_take_is_what_is_available",
            ROOM + "test_a_run_waits_until_another_has_given_back_its_memory",
            ROOM + "test_one_may_always_run_and_who_waits_too_long_is_told",
            ROOM + "test_one_may_always_run_beside_programs_that_stay_and_after_them",
            ROOM + "test_a_smaller_run_fits_where_a_larger_one_does_not",
            ROOM + "test_processes_of_runs_go_first_when_memory_is_short",
        ),
    ),
    Requirement(
        "HOST-11",
        "design",
        "An energy level that is in force and not on disk is told as what it is",
        (
            "tests/cortex/energy/test_energy_command.py::test_what_is_set_on_a_full_disk_is_told_as_it_is",
            "tests/cortex/energy/test_energy_command.py::test_what_the_disk_does_not_take_is_in_force_and_said_to_be",
        ),
    ),
    Requirement(
        "HOST-13",
        "design",
        "A schema of more parts than can be compiled at once is refused",
        (
            "tests/sandbox/tool_types/test_schema_check.py::test_a_schema_of_more_parts_than_can_be_compiled_at_once_is_refused",
        ),
    ),
    Requirement(
        "HOST-12",
        "design",
        "Lent tools work 32 at once for one run, the others in order, and the time of a call begins with its turn",
        (
            TOOLS + "test_no_more_tools_work_at_once_than_the_settings_allow_and_the_others_come_in_order",
            TOOLS + "test_the_time_of_a_call_begins_with_its_turn",
        ),
    ),
    Requirement(
        "HOST-14",
        "design",
        "Arguments that pydantic would validate for long (recursive unions, thousands of errors) are refused before",
        (
            WORK + "test_types_that_multiply_the_work_of_validation_are_recognised",
            WORK + "test_a_value_of_some_levels_is_taken_and_a_deeper_one_refused_before_it_is_tried",
            WORK + "test_many_values_of_some_levels_are_refused_too",
            WORK + "test_types_with_a_discriminator_or_without_a_union_may_be_deep",
            WORK + "test_thousands_of_values_for_many_types_are_refused",
            WORK + "test_thousands_of_ordinary_values_are_taken",
            WORK + "test_thousands_of_values_that_do_not_fit_are_not_listed_one_by_one",
        ),
    ),
    Requirement(
        "HOST-15",
        "design",
        "Answers of tools that the code does not read have a limit together",
        (TOOLS + "test_answers_that_the_code_does_not_read_have_a_limit_together",),
    ),
    Requirement(
        "HOST-16",
        "design",
        "A client of the MCP server has few open requests, and nothing of a message that is none is quoted",
        (
            OPEN + "test_a_client_that_reads_nothing_is_not_read_either",
            OPEN + "test_a_call_that_is_cancelled_gives_its_place_back",
            OPEN + "test_requests_of_one_id_give_their_places_back",
            OPEN + "test_calls_that_are_too_large_together_are_told_to_retry_later",
            OPEN + "test_of_two_requests_with_one_id_the_larger_counts_until_both_are_answered",
            "tests/cortex/mcp_server/test_weight.py::test_over_http",
            "tests/cortex/mcp_server/test_weight.py::test_through_pipes",
            CROWD + "test_what_is_no_message_is_refused_by_its_id_and_not_quoted",
            CROWD + "test_only_a_call_of_a_tool_may_be_long",
        ),
    ),
    Requirement(
        "KILL-LOAD-1",
        "design",
        "cortex kill has the processors first, and so has what it kills; workers are nicer than their launcher",
        (
            PRIORITY + "test_a_process_goes_first_and_then_like_others",
            PRIORITY + "test_a_process_that_may_not_go_first_goes_on_as_before",
            PRIORITY + "test_a_system_without_realtime_lets_it_be_less_nice",
            PRIORITY + "test_cortex_kill_goes_first_until_everything_is_dead_and_then_like_others",
            PRIORITY + "test_what_was_killed_goes_first_too_because_it_cannot_end_without_a_processor",
            "tests/sandbox/jail/test_launcher.py::test_a_process_is_started_limited_killed_and_reaped",
        ),
    ),
    Requirement(
        "KILL-LOAD-2",
        "design",
        "Where the switch cannot be written, the programs of the home are stopped, so that nothing new starts",
        (
            KILL + "test_where_the_switch_cannot_be_written_the_programs_of_the_home_are_stopped_and_start_nothing",
            PRIORITY + "test_a_program_that_has_noted_a_process_of_its_own_is_stopped",
            PRIORITY + "test_a_program_is_not_stopped_for_a_process_that_it_did_not_start",
            PRIORITY + "test_a_program_does_not_stop_itself",
        ),
    ),
)
