"""Each promise of the cortex, and the tests that hold us to it. Part of `tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

ENERGY = "tests/cortex/energy/"
AUDIT = "tests/cortex/audit/"
TOOLS = "tests/cortex/tools/"
LOOP = "tests/cortex/loop/"
CHAT = "tests/cortex/chat/"
CORTEX = "tests/cortex/"
TURN = "tests/cortex/turn/test_turn.py::"

REQUIREMENTS = (
    Requirement(
        "003-EXECUTE-STRINGS",
        "003",
        "core.execute always answers with one string, and the codes are exactly these",
        (
            "tests/cortex/turn/test_turn.py::test_each_outcome_has_its_string",
            "tests/cortex/turn/test_turn.py::test_what_the_guard_finds_is_blocked_and_nothing_runs",
            "tests/cortex/turn/test_turn.py::test_nothing_raises_and_nothing_is_answered_with_silence",
            "tests/cortex/turn/test_turn.py::test_a_fault_of_the_host_is_an_error_that_tells_no_secret",
        ),
    ),
    Requirement(
        "003-EXECUTE-CLAMP",
        "003",
        "The timeout is clamped and not rejected",
        ("tests/cortex/turn/test_turn.py::test_a_timeout_is_clamped_and_never_refused",),
    ),
    Requirement(
        "003-EXECUTE-LIMIT",
        "003",
        "Calls per turn are limited",
        (
            "tests/cortex/turn/test_turn.py::test_a_turn_runs_code_so_often_and_no_more",
            "tests/cortex/turn/test_turn.py::test_calls_at_the_same_time_do_not_pass_the_limit_together",
            "tests/cortex/turn/test_turn.py::test_a_refused_call_does_not_count",
        ),
    ),
    Requirement(
        "003-EXECUTE-COERCE",
        "003",
        "What weak models send is understood",
        ("tests/cortex/turn/test_turn.py::test_what_weak_models_send_is_understood",),
    ),
    Requirement(
        "003-EXECUTE-ENERGY",
        "003",
        "Whatever ran is charged, a refusal is free and says when",
        (
            "tests/cortex/turn/test_turn.py::test_whatever_ran_is_charged_and_a_refusal_is_free",
            "tests/cortex/turn/test_turn.py::test_below_the_floor_nothing_runs_and_the_model_learns_when_it_will",
            "tests/cortex/turn/test_turn.py::test_two_cortexes_on_one_home_spend_the_same_energy",
            "tests/cortex/turn/test_turn.py::test_a_metered_run_costs_what_was_measured_and_the_ledger_has_both",
            CORTEX
            + "test_motor_cortex.py::test_energy_that_was_spent_survives_a_host_that_is_killed_in_the_middle_of_a_run",
            CORTEX + "test_motor_cortex.py::test_a_metered_run_is_settled_by_what_it_took",
        ),
    ),
    Requirement(
        "003-INTENT",
        "003",
        "RUN_CODE is the data from the tool to the runtime and into the audit",
        (
            "tests/cortex/turn/test_turn.py::test_everything_that_happens_is_written_down_once_and_holds_no_text_of_the_code",
            "tests/cortex/turn/test_turn.py::test_the_ledger_names_the_turn_and_the_code",
        ),
    ),
    Requirement(
        "003-NETWORK-HOSTS",
        "003",
        "Hosts come from the settings, whatever the arguments say",
        (CORTEX + "test_motor_cortex.py::test_hosts_come_from_the_settings_whatever_the_arguments_say",),
    ),
    Requirement(
        "003-NO-CHAINING",
        "003",
        "core tools are never lent",
        (CORTEX + "test_motor_cortex.py::test_core_tools_are_never_lent",),
    ),
    Requirement(
        "003-SAY-REMEMBER",
        "003",
        "A turn can end in a message and a memory",
        (
            "tests/cortex/turn/test_turn.py::test_a_turn_can_end_in_a_message_and_a_memory",
            LOOP + "test_said.py::test_an_empty_reply_ends_the_turn_after_core_say",
        ),
    ),
    Requirement(
        "turn-prices",
        "design",
        "A model can plan, and hears of its energy when it matters",
        (
            "tests/cortex/turn/test_turn.py::test_a_model_can_ask_for_prices",
            "tests/cortex/turn/test_turn.py::test_the_line_about_energy_comes_when_a_tier_is_nearly_out_of_reach",
        ),
    ),
    Requirement(
        "turn-tools",
        "design",
        "Tools of the toolbox answer the model, under the owner's policy, which holds for core tools too",
        (
            "tests/cortex/turn/test_turn.py::test_a_tool_of_the_toolbox_answers_the_model",
            "tests/cortex/turn/test_turn.py::test_without_an_owner_what_needs_consent_is_refused",
            "tests/cortex/turn/test_turn.py::test_a_policy_holds_for_the_tools_of_the_cortex_too",
            "tests/cortex/turn/test_turn.py::test_an_owner_can_be_asked_before_each_run_and_sees_the_code",
        ),
    ),
    Requirement(
        "turn-consent",
        "design",
        "Consent is asked for inside code too, and the clock waits for the person",
        (
            CORTEX
            + "test_motor_cortex.py::test_consent_is_asked_for_inside_code_too_and_the_clock_waits_for_the_person",
        ),
    ),
    Requirement(
        "turn-cancel",
        "design",
        "A cancelled turn stops the sandbox, stays charged and is written down",
        (
            CORTEX + "test_motor_cortex.py::test_a_cancelled_turn_stops_the_sandbox",
            "tests/cortex/turn/test_turn.py::test_a_cancelled_run_stays_charged_and_is_written_down",
        ),
    ),
    Requirement(
        "turn-audit",
        "design",
        "What cannot be written down is not done",
        (
            "tests/cortex/turn/test_turn.py::test_nothing_more_is_done_while_the_audit_cannot_be_written",
            "tests/cortex/turn/test_turn.py::test_energy_that_had_to_be_repaired_is_written_down",
            "tests/cortex/turn/test_turn.py::test_what_a_program_sets_is_a_decision_of_the_owner",
        ),
    ),
    Requirement(
        "turn-watch",
        "design",
        "Whoever watches a turn sees what happens and cannot disturb it",
        ("tests/cortex/turn/test_turn.py::test_a_watcher_sees_every_event_and_cannot_disturb_a_turn",),
    ),
    Requirement(
        "contract-cortex",
        "design",
        "The public contract of MotorCortex, Toolbox and turn",
        (
            CORTEX + "test_motor_cortex.py::test_the_public_contract",
            CORTEX + "test_motor_cortex.py::test_a_machine_without_deno_is_one_clear_error",
        ),
    ),
    Requirement(
        "cli-common",
        "design",
        "--home before or after the command; a reader that goes away is no error",
        (
            "tests/cortex/commands/test_options.py::test_the_home_may_be_named_before_the_command_or_after_it",
            "tests/cortex/commands/test_options.py::test_a_home_that_is_called_like_a_command_is_a_home",
            "tests/cortex/commands/test_options.py::test_a_reader_that_goes_away_is_no_error",
        ),
    ),
    Requirement(
        "audit-days-files",
        "design",
        "The files of the audit are read by their names",
        (AUDIT + "test_days.py::",),
    ),
    Requirement(
        "energy-life",
        "design",
        "Whatever happens to a reserve in whatever order, the level is right",
        (ENERGY + "test_model.py::",),
    ),
    Requirement(
        "003-ENERGY-COST",
        "003",
        "Isolated costs 0.05 and network 0.15",
        (
            ENERGY + "test_gate.py::test_the_costs_are_those_of_the_source",
            ENERGY + "test_reserve.py::test_a_run_takes_what_its_tier_costs",
        ),
    ),
    Requirement(
        "003-ENERGY-FLOOR",
        "003",
        "Isolated is refused below 0.15, network below 0.30",
        (ENERGY + "test_gate.py::test_the_floors_are_those_of_the_source",),
    ),
    Requirement(
        "energy-unrounded",
        "design",
        "The level is never rounded",
        (ENERGY + "test_reserve.py::test_the_level_is_never_rounded",),
    ),
    Requirement(
        "energy-clock",
        "design",
        "Recharge goes by the clock, and a clock set back neither gives nor stops it",
        (
            ENERGY + "test_reserve.py::test_energy_recharges_by_the_clock_however_often_one_looks",
            ENERGY + "test_reserve.py::test_a_clock_that_is_set_back_neither_gives_nor_stops_energy",
            ENERGY + "test_reserve.py::test_a_clock_that_trembles_gives_no_energy_twice",
        ),
    ),
    Requirement(
        "energy-reserve",
        "design",
        "Taken before the run, atomically: racing processes, tasks and threads never spend the same energy",
        (
            ENERGY + "test_processes.py::test_processes_that_race_never_spend_the_same_energy",
            ENERGY + "test_reserve.py::test_many_tasks_at_once_take_no_more_than_there_is",
            ENERGY + "test_reserve.py::test_threads_of_one_process_take_no_more_than_there_is",
        ),
    ),
    Requirement(
        "energy-free-refusal",
        "design",
        "A refusal is free, says what is missing, when it will suffice, and the cheaper tier",
        (
            ENERGY + "test_reserve.py::test_a_refusal_is_free_and_leaves_no_trace",
            ENERGY + "test_gate.py::test_a_refusal_says_what_is_missing_and_when_it_will_suffice",
            ENERGY + "test_gate.py::test_nobody_is_told_to_come_back_too_early_nor_absurdly_late",
            ENERGY
            + "test_gate.py::test_a_cheaper_tier_is_named_only_when_it_is_possible_reaches_less_and_is_no_dearer",
        ),
    ),
    Requirement(
        "energy-crash",
        "design",
        "A process killed at any moment loses nothing and gives nothing away",
        (
            ENERGY + "test_processes.py::test_a_process_that_is_killed_loses_nothing_and_gives_nothing_away",
            ENERGY + "test_processes.py::test_killed_before_any_call_of_the_system_the_level_is_the_old_or_the_new_one",
        ),
    ),
    Requirement(
        "energy-damage",
        "design",
        "Damaged files never give energy and are kept",
        (
            ENERGY + "test_damage.py::test_where_nothing_can_be_believed_the_level_is_0",
            ENERGY + "test_damage.py::test_no_damage_whatever_gives_more_than_was_ever_there",
        ),
    ),
    Requirement(
        "energy-metered",
        "design",
        "Metered runs are settled from what was measured, between floor and ceiling, both in the ledger",
        (
            ENERGY + "test_metering.py::test_the_measures_add_up",
            ENERGY + "test_metering.py::test_no_run_costs_less_than_the_floor_or_more_than_the_ceiling",
            ENERGY + "test_reserve.py::test_what_was_taken_is_settled_to_what_was_measured",
        ),
    ),
    Requirement(
        "energy-command",
        "design",
        "`cortex energy` shows level, costs, forecast, ledger; set and top-up are recorded",
        (
            ENERGY + "test_energy_command.py::test_it_shows_level_prices_and_forecast_and_the_ledger",
            ENERGY + "test_energy_command.py::test_the_owner_sets_and_tops_up_and_it_is_recorded",
            ENERGY + "test_energy_command.py::test_bad_values_are_errors_of_usage_and_change_nothing",
        ),
    ),
    Requirement(
        "toolbox-schema",
        "design",
        "Name, words and closed JSON Schema of a tool come from its function",
        (
            TOOLS
            + "test_toolbox.py::test_the_bare_decorator_takes_name_words_and_schema_from_the_function_and_leaves_it_as_it_is",
            TOOLS
            + "test_toolbox.py::test_the_types_of_pydantic_are_described_without_titles_and_closed_at_every_depth",
        ),
    ),
    Requirement(
        "toolbox-refusals",
        "design",
        "What cannot be a tool is refused at registration with what to do",
        (TOOLS + "test_toolbox.py::test_what_cannot_be_a_tool_is_refused_at_registration_with_what_to_do",),
    ),
    Requirement(
        "toolbox-calls",
        "design",
        "Sync and async, pydantic types; a value or a ToolError, whatever the function does",
        (
            TOOLS + "test_calls.py::test_models_enums_literals_and_dates_are_made_of_json",
            TOOLS + "test_calls.py::test_whatever_a_function_raises_is_an_error_without_its_text",
            TOOLS + "test_calls.py::test_a_tool_that_cancels_itself_does_not_cancel_its_caller",
            TOOLS + "test_calls.py::test_a_tool_that_hangs_is_left_at_its_timeout_in_a_task_or_in_a_thread",
            TOOLS + "test_calls.py::test_calls_that_do_not_end_take_up_the_threads_of_their_own_tool_only",
            TOOLS + "test_calls.py::test_a_call_that_hangs_does_not_keep_a_program_from_ending",
            TOOLS + "test_calls.py::test_results_are_json",
            TOOLS + "test_calls.py::test_a_result_that_is_not_json_is_an_error",
        ),
    ),
    Requirement(
        "weak-models",
        "design",
        "Nulls, camelCase, stringified numbers and JSON in strings are coerced",
        (
            TOOLS + "test_calls.py::test_arguments_of_weak_models_are_understood",
            TOOLS + "test_calls.py::test_what_cannot_be_understood_is_an_error_that_says_what_to_send",
            TOOLS + "test_core_arguments.py::test_what_weak_models_send_to_core_execute_is_understood",
            TOOLS
            + "test_core_arguments.py::test_whatever_is_sent_there_are_arguments_of_the_right_types_or_one_kind_of_error",
        ),
    ),
    Requirement(
        "hosts-from-settings",
        "design",
        "No argument chooses hosts, tools or limits",
        (TOOLS + "test_core_arguments.py::test_nothing_can_be_given_that_is_not_a_parameter",),
    ),
    Requirement(
        "wire-names",
        "design",
        "One reversible, collision-checked map; core.* is not for users",
        (
            TOOLS + "test_names.py::test_a_dot_is_an_underscore_on_the_wire_and_the_table_leads_back",
            TOOLS + "test_names.py::test_two_tools_that_are_one_on_the_wire_are_refused_and_both_are_named",
            TOOLS + "test_names.py::test_names_of_the_core_are_not_for_users",
        ),
    ),
    Requirement(
        "tool-policies",
        "design",
        "Allow, ask, deny; settings beat the declaration",
        (
            TOOLS + "test_consent.py::test_settings_beat_the_declaration_and_the_strictest_of_them_holds",
            TOOLS + "test_consent.py::test_policies_that_match_no_tool_are_found",
        ),
    ),
    Requirement(
        "consent",
        "design",
        "The owner decides, silence and everything unclear is no, so many questions a turn",
        (
            TOOLS + "test_consent.py::test_the_owner_decides_wherever_the_call_comes_from",
            TOOLS + "test_consent.py::test_silence_is_no",
            TOOLS + "test_consent.py::test_everything_but_a_clear_yes_is_no",
            TOOLS + "test_consent.py::test_questions_to_the_owner_are_limited_per_turn_also_when_asked_at_once",
            TOOLS + "test_consent.py::test_the_tool_gets_the_arguments_that_the_owner_saw_whatever_changes_either_copy",
        ),
    ),
    Requirement(
        "consent-inside-code",
        "design",
        "The same inside sandboxed code; the run's clock stands still",
        (
            TOOLS + "test_lent.py::test_the_owner_decides_about_calls_from_code_too",
            TOOLS + "test_lent.py::test_policies_of_the_settings_hold_for_calls_from_code_too",
            TOOLS + "test_lent.py::test_a_forged_call_of_a_tool_that_needs_consent_needs_it",
            TOOLS + "test_lent.py::test_the_clock_of_a_run_stands_still_while_a_person_decides",
        ),
    ),
    Requirement(
        "openai-tools",
        "design",
        "Both APIs, byte-stable, snapshots, under 1,000 tokens",
        (
            TOOLS + "test_openai_tools.py::test_the_tools_are_the_bytes_of_the_snapshot",
            TOOLS + "test_openai_tools.py::test_the_bytes_are_the_same_in_every_process_whatever_its_hash_seed",
            TOOLS + "test_openai_tools.py::test_the_tools_of_the_core_are_fewer_than_a_thousand_tokens",
        ),
    ),
    Requirement(
        "memory",
        "design",
        "Survives kill -9, bounded, damaged lines passed over",
        (
            "tests/cortex/home/test_memory.py::test_a_process_that_is_killed_while_it_remembers_loses_nothing_that_was_kept",
            "tests/cortex/home/test_memory.py::test_the_oldest_make_way_for_the_newest",
            "tests/cortex/home/test_memory.py::test_a_damaged_line_is_passed_over_and_reported_and_spoils_no_other",
        ),
    ),
    Requirement(
        "owner-question",
        "design",
        "What the owner is shown cannot steer a terminal and says what is left out",
        (
            TOOLS + "test_owner.py::test_nothing_in_a_question_can_control_a_terminal_or_pass_for_a_line_of_ours",
            TOOLS + "test_owner.py::test_a_question_says_what_it_leaves_out",
        ),
    ),
    Requirement(
        "loop-1",
        "design",
        "Model, tools, model, until it stops",
        (
            LOOP + "test_turn.py::test_the_model_calls_a_tool_reads_its_answer_and_ends_in_words",
            LOOP + "test_turn.py::test_a_turn_with_the_real_client_from_a_split_call_to_the_last_word",
        ),
    ),
    Requirement(
        "loop-2",
        "design",
        "Bounded in rounds, calls, time, tokens, with a last word",
        (
            LOOP + "test_turn.py::test_rounds_are_bounded_and_calls_of_the_last_round_are_not_run",
            LOOP + "test_turn.py::test_calls_are_bounded_and_the_model_is_told_before_the_turn_ends",
            LOOP + "test_turn.py::test_the_time_of_a_turn_is_bounded_in_models_and_in_tools",
            LOOP + "test_turn.py::test_tokens_are_bounded",
        ),
    ),
    Requirement(
        "loop-3",
        "design",
        "Parallel calls run at once and are answered in order",
        (LOOP + "test_turn.py::test_calls_of_one_message_run_at_once_and_are_answered_in_their_order",),
    ),
    Requirement(
        "loop-4",
        "design",
        "Malformed arguments, unknown tools and duplicates get an answer the model can use",
        (
            LOOP + "test_turn.py::test_malformed_arguments_and_unknown_tools_reach_the_turn_as_they_are",
            LOOP + "test_turn.py::test_identical_calls_in_one_message_run_once_and_both_get_the_answer",
            LOOP + "test_turn.py::test_missing_repeated_and_odd_ids_are_made_unique",
            LOOP + "test_turn.py::test_arguments_that_were_cut_off_are_not_run",
        ),
    ),
    Requirement(
        "loop-5",
        "design",
        "Cancellation goes through and leaves a valid conversation",
        (
            LOOP + "test_turn.py::test_cancelling_goes_through_and_leaves_a_valid_conversation_on_disk",
            LOOP + "test_turn.py::test_cancelling_a_turn_with_the_real_client_closes_the_connection",
        ),
    ),
    Requirement(
        "loop-6",
        "design",
        "Faults of the model end the turn and keep what the user said",
        (
            LOOP + "test_turn.py::test_a_fault_of_the_model_ends_the_turn_and_what_the_user_said_stays",
            LOOP + "test_turn.py::test_a_connection_lost_in_the_middle_of_the_words_keeps_what_was_shown",
        ),
    ),
    Requirement(
        "loop-7",
        "design",
        "Conversations survive kill -9 and can be taken up",
        (
            LOOP + "test_conversations.py::test_a_program_that_is_killed_leaves_all_that_was_said",
            LOOP + "test_conversations.py::test_cut_at_any_byte_the_rest_is_valid_and_can_be_gone_on_with",
            LOOP + "test_conversations.py::test_a_conversation_is_taken_up_where_it_ended",
            LOOP
            + "test_conversations.py::test_whatever_a_file_holds_a_repaired_conversation_is_valid_and_repaired_once",
        ),
    ),
    Requirement(
        "loop-8",
        "design",
        "What a model writes is bounded; empty replies are nudged once",
        (
            LOOP + "test_turn.py::test_what_the_model_writes_is_bounded",
            LOOP + "test_turn.py::test_an_empty_reply_is_nudged_once_and_the_nudge_is_not_kept",
        ),
    ),
    Requirement(
        "model-1",
        "design",
        "Streams, also calls split in the middle of a JSON string and every dialect",
        (
            "tests/cortex/models/test_openai_model.py::test_a_call_split_in_the_middle_of_a_json_string_is_put_together",
            "tests/cortex/models/test_openai_model.py::test_calls_are_understood_as_servers_really_send_them",
            "tests/cortex/models/test_openai_model.py::test_bytes_split_anywhere_even_inside_a_character_make_the_same_reply",
            "tests/cortex/models/test_openai_model.py::test_a_piece_is_shown_before_the_next_one_exists",
        ),
    ),
    Requirement(
        "model-2",
        "design",
        "Retries connection errors, 429 and 5xx, honouring Retry-After",
        (
            "tests/cortex/models/test_openai_model.py::test_too_many_requests_and_then_success_honours_the_wait_that_the_server_asks_for",
            "tests/cortex/models/test_openai_model.py::test_waits_are_seconds_milliseconds_or_dates_and_never_longer_than_set",
            "tests/cortex/models/test_openai_model.py::test_failures_are_tried_again_with_growing_waits_up_to_the_number_of_attempts",
            "tests/cortex/models/test_openai_model.py::test_a_connection_that_is_refused_is_tried_again_and_then_told",
        ),
    ),
    Requirement(
        "model-3",
        "design",
        "No second attempt once text was shown",
        (
            "tests/cortex/models/test_openai_model.py::test_a_stream_that_breaks_off_after_text_was_shown_is_not_tried_again",
        ),
    ),
    Requirement(
        "model-4",
        "design",
        "A hang ends",
        (
            "tests/cortex/models/test_openai_model.py::test_a_server_that_says_nothing_is_given_up",
            "tests/cortex/models/test_openai_model.py::test_a_stream_that_stalls_is_given_up",
            "tests/cortex/models/test_openai_model.py::test_a_reply_that_trickles_in_ends_at_its_timeout",
            "tests/cortex/http/test_bodies.py::test_a_body_that_is_left_ends_in_all_its_parts",
        ),
    ),
    Requirement(
        "model-5",
        "design",
        "Garbage is a fault with words that help",
        (
            "tests/cortex/models/test_openai_model.py::test_garbage_is_a_fault_that_says_where_to_look_and_is_not_asked_for_again",
            "tests/cortex/models/test_openai_model.py::test_faults_say_what_to_do_and_are_not_tried_again",
        ),
    ),
    Requirement(
        "model-6",
        "design",
        "The key is never shown",
        (
            "tests/cortex/models/test_openai_model.py::test_the_key_is_never_shown_even_when_the_server_quotes_it",
            "tests/cortex/models/test_openai_model.py::test_settings_that_name_no_model_are_told_at_once",
        ),
    ),
    Requirement(
        "model-7",
        "design",
        "Usage totals, estimated where nobody counts",
        (
            "tests/cortex/models/test_openai_model.py::test_text_is_shown_as_it_comes_and_tokens_are_counted",
            "tests/cortex/models/test_openai_model.py::test_tokens_are_estimated_when_the_server_does_not_count",
            "tests/cortex/models/test_openai_model.py::test_a_server_without_stream_options_is_asked_without_them",
        ),
    ),
    Requirement(
        "model-8",
        "design",
        "The client is imported late",
        ("tests/cortex/models/test_openai_model.py::test_the_client_of_openai_is_imported_late",),
    ),
    Requirement(
        "script-1",
        "design",
        "A public scripted model",
        (
            "tests/cortex/models/test_scripted_model.py::test_steps_come_one_after_the_other_and_text_comes_in_pieces",
            "tests/cortex/models/test_scripted_model.py::test_an_expectation_that_is_not_met_says_what_came_instead",
            "tests/cortex/models/test_scripted_model.py::test_a_script_that_has_ended_says_so",
        ),
    ),
    Requirement(
        "audit-chain",
        "design",
        "One chain for all processes and threads",
        (
            AUDIT + "test_races.py::test_processes_that_write_at_once_make_one_chain_and_lose_nothing",
            AUDIT + "test_races.py::test_forks_of_a_writer_write_one_chain_too",
            AUDIT + "test_trail.py::test_another_object_and_this_one_write_one_chain",
        ),
    ),
    Requirement(
        "audit-kill",
        "design",
        "A kill loses nothing that was acknowledged",
        (
            AUDIT + "test_races.py::test_processes_that_are_killed_in_the_middle_leave_a_chain",
            AUDIT + "test_trail.py::test_a_torn_line_is_cut_off_and_the_log_says_how_much_it_was",
        ),
    ),
    Requirement(
        "audit-days",
        "design",
        "A file for each day and one chain through all of them",
        (
            AUDIT + "test_trail.py::test_a_new_day_is_a_new_file_and_the_same_chain",
            AUDIT + "test_trail.py::test_a_clock_that_is_set_back_does_not_lead_back_to_an_older_file",
        ),
    ),
    Requirement(
        "audit-chain-check",
        "design",
        "The chain is checked piece by piece, from the last good place on, and a changed record is named",
        (
            AUDIT + "test_chain_check.py::test_it_goes_on_from_the_last_good_place_in_this_and_in_the_next_process",
            AUDIT + "test_chain_check.py::test_a_record_that_was_changed_is_named_and_nothing_behind_it_is_good",
            AUDIT + "test_chain_check.py::test_a_kept_place_whose_line_was_changed_is_not_believed",
            AUDIT + "test_chain_check.py::test_without_a_log_nothing_is_checked",
        ),
    ),
    Requirement(
        "audit-verify",
        "design",
        "Verifying names file, line and what is wrong",
        (
            AUDIT + "test_verify.py::test_a_line_that_was_changed",
            AUDIT + "test_verify.py::test_lines_that_were_taken_out",
            AUDIT + "test_verify.py::test_a_foreign_line",
            AUDIT + "test_verify.py::test_an_end_that_was_cut_off",
            AUDIT + "test_chain_check.py::test_it_goes_on_from_the_last_good_place_in_this_and_in_the_next_process",
            AUDIT + "test_chain_check.py::test_a_record_that_was_changed_is_named_and_nothing_behind_it_is_good",
            AUDIT + "test_chain_check.py::test_a_kept_place_whose_line_was_changed_is_not_believed",
            AUDIT + "test_audit_command.py::test_verify_says_what_is_damaged_and_where",
            AUDIT + "test_trail.py::test_a_last_line_that_was_forged_stays_damage_whoever_writes_on",
        ),
    ),
    Requirement(
        "audit-code",
        "design",
        "Code is kept by its hash, unless the owner does not want it",
        (
            AUDIT + "test_trail.py::test_code_is_kept_once_under_its_hash",
            AUDIT + "test_trail.py::test_code_is_not_kept_if_the_owner_does_not_want_it",
        ),
    ),
    Requirement(
        "audit-flush",
        "design",
        "What is written reaches the disk in the background",
        (AUDIT + "test_trail.py::test_a_running_flusher_writes_the_known_end_by_itself",),
    ),
    Requirement(
        "audit-disk",
        "design",
        "A disk that refuses leaves no half a line, and says what to do",
        (
            AUDIT + "test_trail.py::test_a_disk_that_takes_only_a_part_of_a_line_keeps_none_of_it",
            AUDIT + "test_trail.py::test_a_folder_that_is_not_ours_to_write_is_an_error_that_says_so",
        ),
    ),
    Requirement(
        "audit-bounds",
        "design",
        "Facts are bounded, and JSON",
        (
            AUDIT + "test_facts.py::test_a_long_text_is_cut_and_says_by_how_much",
            AUDIT + "test_facts.py::test_what_is_not_json_is_refused",
        ),
    ),
    Requirement(
        "audit-view",
        "design",
        "The log for people is one safe line for each record",
        (
            AUDIT + "test_view.py::test_a_text_cannot_steer_the_terminal_nor_begin_a_new_line",
            AUDIT + "test_audit_command.py::test_one_line_for_each_record_in_local_time",
        ),
    ),
    Requirement(
        "files",
        "design",
        "State gets to disk whole, between processes, off the hot path",
        (
            "tests/sandbox/disk/test_durable.py::test_who_reads_while_the_writer_is_killed_finds_the_old_bytes_or_the_new",
            "tests/sandbox/disk/test_durable.py::test_a_holder_that_dies_lets_go",
            "tests/sandbox/disk/test_durable.py::test_what_is_wanted_often_is_done_once_and_the_last_counts",
            "tests/sandbox/disk/test_durable.py::test_what_is_wanted_when_it_ends_is_done_before_it_has_ended",
        ),
    ),
    Requirement(
        "chat-executions",
        "design",
        "Each execution is shown as it happens: purpose, code highlighted, tier, time, energy before and after, result or coded refusal",
        (
            "tests/cortex/show/test_show.py::test_it_is_shown_as_it_happens_and_not_when_it_is_over",
            "tests/cortex/show/test_show.py::test_an_execution_in_a_terminal_has_a_gauge_and_colours",
            "tests/cortex/show/test_show.py::test_an_execution_without_a_terminal_is_plain_text",
            "tests/cortex/show/test_show.py::test_refusals_show_what_was_asked_and_the_code",
            "tests/cortex/show/test_show.py::test_code_made_to_take_minutes_to_colour_is_shown_plain_from_some_place_on",
            "tests/cortex/show/test_show.py::test_failures_of_the_code_are_red",
            CHAT + "test_command.py::test_a_whole_conversation_in_a_terminal",
        ),
    ),
    Requirement(
        "chat-steering",
        "design",
        "Nothing of a model or its code steers the terminal, and nothing is wider than it",
        (
            "tests/cortex/show/test_show.py::test_nothing_of_a_model_or_its_code_steers_the_terminal",
            "tests/cortex/commands/test_log_lines.py::test_the_text_of_an_error_is_set_in_below_the_message",
            CHAT + "test_command.py::test_what_a_tool_raises_cannot_steer_the_terminal",
            "tests/cortex/show/test_show.py::test_nothing_is_wider_than_the_terminal",
            "tests/cortex/show/test_show.py::test_a_text_of_an_execution_cannot_pass_for_a_line_of_ours",
            CHAT + "test_turns.py::test_a_question_cannot_pass_for_another_or_steer_the_terminal",
        ),
    ),
    Requirement(
        "chat-plain",
        "design",
        "Plain without a terminal, NO_COLOR honoured",
        (
            "tests/cortex/show/test_show.py::test_no_color_and_a_dumb_terminal_turn_colours_off",
            "tests/cortex/show/test_show.py::test_a_terminal_without_utf8_gets_no_symbols",
            CHAT
            + "test_turns.py::test_what_the_agent_says_is_one_stream_and_what_it_does_another_where_there_is_no_terminal",
        ),
    ),
    Requirement(
        "chat-interrupt",
        "design",
        "Ctrl-C cancels the turn and not the program",
        (
            CHAT + "test_command.py::test_a_whole_conversation_in_a_terminal",
            CHAT + "test_command.py::test_a_signal_ends_a_chat_through_pipes_and_leaves_nothing",
            CHAT + "test_turns.py::test_an_interrupt_stops_the_turn_with_what_it_runs_and_the_chat_goes_on",
            CHAT + "test_turns.py::test_an_interrupt_at_a_question_stops_the_turn",
            CHAT + "test_turns.py::test_an_interrupt_that_comes_between_two_turns_stops_neither",
        ),
    ),
    Requirement(
        "chat-commands",
        "design",
        "/energy, /help, /quit",
        (CHAT + "test_turns.py::test_a_dialogue_has_commands_and_hints",),
    ),
    Requirement(
        "chat-history",
        "design",
        "History, and conversations that can be resumed",
        (
            CHAT + "test_command.py::test_the_history_is_there_in_the_next_chat",
            CHAT
            + "test_command.py::test_messages_from_a_pipe_are_answered_one_after_the_other_and_can_be_gone_on_with",
            CHAT + "test_parts.py::test_the_history_of_lines_is_private_and_survives",
            CHAT + "test_usage.py::test_conversations_are_listed_for_people_and_for_programs",
        ),
    ),
    Requirement(
        "chat-json",
        "design",
        "--json for scripts",
        (
            CHAT + "test_turns.py::test_programs_get_one_object_in_each_line",
            "tests/cortex/show/test_show.py::test_events_for_programs_have_stable_names",
        ),
    ),
    Requirement(
        "chat-endpoint",
        "design",
        "A clear message when no endpoint is configured",
        (
            CHAT + "test_parts.py::test_without_an_endpoint_the_error_says_how_to_configure_one",
            CHAT + "test_usage.py::test_wrong_usage_has_a_clear_error",
        ),
    ),
    Requirement(
        "chat-owner",
        "design",
        "The owner is asked, also for calls from code; only a yes is one; a pipe never",
        (
            CHAT + "test_turns.py::test_the_owner_is_asked_at_the_terminal_and_only_a_yes_is_one",
            CHAT + "test_turns.py::test_code_that_calls_a_tool_asks_too",
            CHAT + "test_turns.py::test_what_was_typed_before_the_question_is_no_answer_to_it",
            CHAT + "test_turns.py::test_an_unanswered_question_is_withdrawn",
            CHAT + "test_turns.py::test_nothing_is_written_into_an_open_question",
            CHAT + "test_command.py::test_a_pipe_is_never_taken_for_consent",
            CHAT + "test_command.py::test_the_owner_is_asked_in_the_terminal_about_a_tool_of_their_own",
        ),
    ),
    Requirement(
        "chat-lost",
        "design",
        "What nobody would see is not run",
        (CHAT + "test_turns.py::test_the_turn_is_stopped_when_its_output_cannot_be_written",),
    ),
    Requirement(
        "demo-honest",
        "design",
        "It says first what is scripted, fast and real, and stops when script and reality differ",
        (
            "tests/cortex/demo/test_demo.py::test_it_says_first_what_is_scripted_what_is_fast_and_what_is_real",
            "tests/cortex/demo/test_demo.py::test_a_script_that_does_not_fit_what_happens_stops_the_demo",
            "tests/cortex/demo/test_demo.py::test_no_word_of_the_script_follows_a_run_that_it_does_not_check",
        ),
    ),
    Requirement(
        "demo-story",
        "design",
        "The demo: interest, a tool of 1.2 MB, the network, escapes, a timeout, exhaustion and recovery",
        (
            "tests/cortex/demo/test_demo.py::test_the_compound_interest_is_computed_and_said",
            "tests/cortex/demo/test_demo.py::test_a_lent_tool_gives_a_megabyte_to_the_code_and_the_saving_is_printed",
            "tests/cortex/demo/test_demo.py::test_an_allowlisted_server_is_fetched_from_and_another_refused",
            "tests/cortex/demo/test_demo.py::test_attempts_to_escape_meet_the_guard_and_the_wall",
            "tests/cortex/demo/test_demo.py::test_code_that_does_not_end_is_stopped",
            "tests/cortex/demo/test_demo.py::test_energy_runs_out_and_comes_back_on_the_fast_clock",
            "tests/cortex/demo/test_demo.py::test_it_ends_with_the_audit_the_wall_and_what_to_try_next",
        ),
    ),
    Requirement(
        "demo-layout",
        "design",
        "80 columns, plain without a terminal",
        (
            "tests/cortex/demo/test_demo.py::test_in_a_terminal_of_80_columns_it_has_colours_and_no_line_is_broken",
            "tests/cortex/demo/test_demo.py::test_without_a_terminal_it_is_plain_text_of_80_columns",
            "tests/cortex/demo/test_demo.py::test_a_reader_who_leaves_ends_it_quietly",
            "tests/cortex/demo/test_demo.py::test_it_succeeds_whatever_the_owner_has_set",
            "tests/cortex/demo/test_demo.py::test_a_missing_deno_is_refused_with_what_to_do",
        ),
    ),
)

GATE = ENERGY + "test_gate.py::"
METERING = ENERGY + "test_metering.py::"
CONSENT = TOOLS + "test_consent.py::"
LOOP_TURN = LOOP + "test_turn.py::"
MODEL = "tests/cortex/models/test_openai_model.py::"

_PRICES = GATE + "test_each_cost_and_each_floor_is_read_from_the_settings"
_RATES = METERING + "test_each_measure_has_its_rate_and_what_is_not_used_costs_nothing"
_BOUNDS = METERING + "test_no_run_costs_less_than_the_floor_or_more_than_the_ceiling"
_RANGE = TURN + "test_the_range_of_timeouts_is_a_setting"
_ANSWERS = TURN + "test_a_tool_of_the_toolbox_answers_the_model"
_SEEN = LOOP_TURN + "test_the_model_sees_instructions_memories_history_and_the_tools_note"
_REQUEST = MODEL + "test_the_request_has_the_conversation_the_tools_and_what_was_set_and_nothing_else"

SETTINGS = {
    "energy": {
        "initial_level": ENERGY
        + "test_reserve.py::test_a_new_home_starts_with_the_initial_level_and_recharges_from_there",
        "recharge_per_minute": GATE + "test_recharge_goes_by_the_clock_and_its_rate_is_a_setting",
        "cost_isolated": _PRICES,
        "cost_network": _PRICES,
        "floor_isolated": _PRICES,
        "floor_network": _PRICES,
    },
    "energy.metered": {
        "enabled": METERING + "test_while_metering_is_off_a_run_costs_what_its_tier_costs",
        "floor": _BOUNDS,
        "ceiling": _BOUNDS,
        "per_cpu_second": _RATES,
        "per_peak_gib": _RATES,
        "per_fetched_mib": _RATES,
        "per_tool_call": _RATES,
    },
    "execute": {
        "max_calls_per_turn": TURN + "test_the_limit_of_a_turn_is_a_setting_and_the_next_turn_begins_anew",
        "min_timeout_ms": _RANGE,
        "max_timeout_isolated_ms": _RANGE,
        "max_timeout_network_ms": _RANGE,
        "guard": TURN + "test_the_guard_can_be_left_out",
        "later": "tests/cortex/jobs/test_jobs.py::"
        "test_without_the_setting_nothing_runs_later_and_the_model_is_not_told_of_it",
        "max_timeout_later_ms": "tests/cortex/jobs/test_jobs.py::"
        "test_a_job_has_the_time_of_its_setting_and_the_sandbox_cuts_it",
    },
    "tools": {
        "policies": TURN + "test_a_policy_in_the_settings_denies_a_tool",
        "owner_timeout_s": CONSENT + "test_silence_is_no",
        "max_questions_per_turn": CONSENT + "test_questions_to_the_owner_are_limited_per_turn_also_when_asked_at_once",
        "call_timeout_ms": _ANSWERS,
        "max_result_bytes": _ANSWERS,
        "error_detail": "tests/cortex/tools/test_error_detail.py::test_a_message_is_shown_where_the_settings_say_so",
        "error_details": "tests/cortex/tools/test_error_detail.py::test_a_setting_for_one_tool_beats_that_for_all",
    },
    "loop": {
        "instructions": _SEEN,
        "max_memories": _SEEN,
        "max_rounds": LOOP_TURN + "test_rounds_are_bounded_and_calls_of_the_last_round_are_not_run",
        "max_tool_calls": LOOP_TURN + "test_calls_are_bounded_and_the_model_is_told_before_the_turn_ends",
        "max_turn_s": LOOP_TURN + "test_the_time_of_a_turn_is_bounded_in_models_and_in_tools",
        "max_turn_tokens": LOOP_TURN + "test_tokens_are_bounded",
        "max_history_bytes": LOOP_TURN + "test_the_model_sees_only_whole_recent_turns_and_the_present_one_always",
    },
    "model": {
        "images": "tests/cortex/models/test_pictures.py::"
        "test_a_model_that_takes_pictures_is_sent_them_and_another_is_not",
        "name": _REQUEST,
        "temperature": _REQUEST,
        "max_reply_tokens": _REQUEST,
        "base_url": MODEL + "test_a_connection_that_is_refused_is_tried_again_and_then_told",
        "api_key": MODEL + "test_the_key_is_sent_and_a_server_without_one_gets_a_placeholder",
        "stream": MODEL + "test_without_a_stream_the_reply_comes_whole",
        "connect_timeout_s": MODEL + "test_a_server_that_does_not_take_connections_is_given_up",
        "stall_timeout_s": MODEL + "test_a_server_that_says_nothing_is_given_up",
        "reply_timeout_s": MODEL + "test_a_reply_that_trickles_in_ends_at_its_timeout",
        "max_attempts": MODEL + "test_failures_are_tried_again_with_growing_waits_up_to_the_number_of_attempts",
        "max_wait_s": MODEL + "test_waits_are_seconds_milliseconds_or_dates_and_never_longer_than_set",
        "max_reply_bytes": MODEL + "test_a_reply_that_is_too_long_is_cut_and_the_rest_is_not_read",
    },
    "audit": {
        "keep_code": AUDIT + "test_trail.py::test_code_is_not_kept_if_the_owner_does_not_want_it",
        "flush_ms": TURN + "test_the_disk_is_written_after_the_interval_that_the_settings_give",
    },
}
