"""Each promise of the source documents that is kept so far, and the tests that hold us to it.

`tests/test_requirements.py` checks both ways: every test named here exists, every test file keeps some promise, and
every setting has a test that fails when it is unwired.
"""

from __future__ import annotations

from tests.cortex import (
    requirements as of_the_cortex,
    requirements_of_budget as of_budget,
    requirements_of_code_mode as of_code_mode,
    requirements_of_console as of_the_console,
    requirements_of_display_bounds as of_display_bounds,
    requirements_of_emissions as of_told_emissions,
    requirements_of_files as of_files,
    requirements_of_inbox as of_the_inbox,
    requirements_of_jobs as of_jobs,
    requirements_of_mcp_workflows as of_mcp_workflows,
    requirements_of_neuron_files as of_neuron_files,
    requirements_of_notes as of_notes,
    requirements_of_owner_page as of_owner_page,
    requirements_of_pictures as of_pictures,
    requirements_of_proof as of_proof,
    requirements_of_replies as of_replies,
    requirements_of_runs as of_runs,
    requirements_of_small as of_small_things,
    requirements_of_store as of_the_store,
    requirements_of_telemetry as of_telemetry,
    requirements_of_workflow_agents as of_workflow_agents,
    requirements_of_workflow_commands as of_workflow_commands,
    requirements_of_workflow_docs as of_workflow_docs,
    requirements_of_workflows as of_workflows,
)
from tests.entry_points import requirements as of_the_host
from tests.neurons import (
    requirements as of_the_neurons,
    requirements_of_emissions as of_emissions,
    requirements_of_equality as of_equality,
    requirements_of_found_habits as of_found_habits,
    requirements_of_functions as of_functions,
    requirements_of_holes as of_holes,
    requirements_of_learning_corpus as of_learning_corpus,
    requirements_of_shapes as of_shapes,
)
from tests.requirement import Requirement

CODE = "tests/sandbox/test_code.py::"
LIMITS = "tests/sandbox/test_limits.py::"
ENDS = "tests/sandbox/test_ends.py::"
TOOLS = "tests/sandbox/test_tools.py::"
POOL = "tests/sandbox/run/test_pool.py::"
GUARD = "tests/sandbox/guard/test_guard.py::"
FRAMES = "tests/sandbox/contracts/test_frames.py::"
CLI = "tests/cortex/commands/test_command_line.py::"
JAIL = "tests/sandbox/jail/test_jail.py::"
SECCOMP = "tests/sandbox/jail/test_seccomp.py::"
DOCTOR = "tests/sandbox/test_doctor.py::"
TIER = "tests/sandbox/test_network_tier.py::"
FOLDER = "tests/sandbox/test_workspace_tier.py::"
FAULTS = "tests/sandbox/test_faults.py::"
NET = "tests/sandbox/network/"
FILES = "tests/sandbox/workspace/"
SETTING = "tests/cortex/settings/test_settings.py::"
CONFIG = "tests/cortex/commands/test_config_command.py::"
HOME = "tests/cortex/home/test_home.py::"
LAYERS = "tests/test_layers.py::"
ANSWERS = "tests/sandbox/test_answers.py::"
PORTS = "tests/cortex/home/test_ports.py::"
DOCS = "tests/test_docs.py::"
ESCAPES = "tests/escapes/test_escapes.py::"

REQUIREMENTS = (
    *of_the_cortex.REQUIREMENTS,
    *of_the_neurons.REQUIREMENTS,
    *of_learning_corpus.REQUIREMENTS,
    *of_found_habits.REQUIREMENTS,
    *of_shapes.REQUIREMENTS,
    *of_equality.REQUIREMENTS,
    *of_emissions.REQUIREMENTS,
    *of_told_emissions.REQUIREMENTS,
    *of_functions.REQUIREMENTS,
    *of_code_mode.REQUIREMENTS,
    *of_the_console.REQUIREMENTS,
    *of_budget.REQUIREMENTS,
    *of_jobs.REQUIREMENTS,
    *of_the_inbox.REQUIREMENTS,
    *of_runs.REQUIREMENTS,
    *of_the_store.REQUIREMENTS,
    *of_telemetry.REQUIREMENTS,
    *of_files.REQUIREMENTS,
    *of_neuron_files.REQUIREMENTS,
    *of_notes.REQUIREMENTS,
    *of_pictures.REQUIREMENTS,
    *of_display_bounds.REQUIREMENTS,
    *of_replies.REQUIREMENTS,
    *of_the_host.REQUIREMENTS,
    *of_small_things.REQUIREMENTS,
    *of_workflow_agents.REQUIREMENTS,
    *of_workflows.REQUIREMENTS,
    *of_workflow_docs.REQUIREMENTS,
    *of_mcp_workflows.REQUIREMENTS,
    *of_workflow_commands.REQUIREMENTS,
    *of_proof.REQUIREMENTS,
    *of_holes.REQUIREMENTS,
    *of_owner_page.REQUIREMENTS,
    Requirement(
        "HANDS-ANSWERS",
        "hands",
        "The value of a program is its answer, in the shapes that models write; what was printed and called is told; errors "
        "are placed in the lines of the author; code is parsed in a bounded process and not visibly changed",
        (
            ANSWERS + "test_programs_in_the_shapes_that_models_write_give_their_answer",
            ANSWERS + "test_programs_that_a_stranger_wrote_give_their_answer",
            ANSWERS + "test_an_error_is_placed_in_the_lines_and_columns_of_the_author",
            ANSWERS + "test_a_program_cannot_see_that_its_value_is_returned",
            ANSWERS + "test_what_a_run_has_done_is_told_when_it_fails",
            ANSWERS + "test_a_call_that_is_under_way_when_the_time_is_over_is_told",
            ANSWERS + "test_the_name_of_a_request_is_one_line_and_reads_have_none",
            "tests/cortex/turn/test_code_mode.py::test_the_calls_of_a_run_are_part_of_its_answer_for_programs",
            "tests/cortex/turn/test_code_mode.py::test_a_secret_where_printed_output_is_cut_is_found_whole",
            ANSWERS + "test_no_value_and_nothing_printed_says_how_to_return_one",
            ANSWERS + "test_an_author_is_not_led_to_repeat_what_has_happened",
            ANSWERS + "test_of_much_that_was_printed_the_beginning_and_the_end_are_told",
            ANSWERS + "test_a_result_that_is_too_long_is_cut_behind_a_whole_element_and_says_how_to_get_less",
            ANSWERS + "test_edits_that_make_no_sense_change_nothing",
            ANSWERS + "test_fences_are_looked_for_in_linear_time",
            ANSWERS + "test_code_that_cannot_be_parsed_in_time_is_run_as_it_is",
            ANSWERS + "test_no_process_is_started_for_code_that_returns",
            ANSWERS + "test_a_function_without_a_block_is_a_mistake_in_the_syntax",
            ANSWERS + "test_code_on_which_deno_ends_is_told_what_to_change",
            "tests/sandbox/test_called_once.py::",
            "tests/sandbox/guard/test_program_reader.py::",
            "tests/sandbox/guard/test_slips.py::test_only_the_beginning_of_long_code_is_looked_at",
        ),
    ),
    # The house: where everything lives
    Requirement(
        "HOUSE-STREETS",
        "house",
        "A room imports only rooms to its left, through their doors; the root of a package holds its door and what puts "
        "the rooms together; tests have one folder for each room",
        (
            LAYERS + "test_every_room_has_its_place_in_the_street",
            LAYERS + "test_a_room_imports_only_rooms_to_its_left_and_through_their_doors",
            LAYERS + "test_a_room_does_not_come_back_through_its_own_door",
            LAYERS + "test_a_door_says_what_is_behind_it_and_opens_for_each_of_its_names",
            LAYERS + "test_tests_have_a_folder_for_each_room_and_no_other",
        ),
    ),
    Requirement(
        "HOUSE-HOME",
        "house",
        "The five ports of a home exist, each with its file adapter and one conformance suite that a second adapter runs",
        (
            PORTS,
            "tests/cortex/test_motor_cortex.py::test_a_cortex_keeps_its_state_in_the_home_that_it_is_given",
        ),
    ),
    Requirement(
        "HOUSE-ONE-OF-EACH",
        "house",
        "One mechanism for files of lines and for locks; a class name occurs once in a package; a small module with one "
        "importer says why it is one",
        (
            LAYERS + "test_files_are_locked_appended_and_flushed_in_few_rooms_only",
            LAYERS + "test_a_public_class_name_occurs_once_in_a_package",
            LAYERS + "test_a_small_module_with_one_importer_says_why_it_is_one",
        ),
    ),
    Requirement(
        "HOUSE-DOCUMENTS",
        "house",
        "README, ARCHITECTURE and SECURITY keep to their numbers of words; docs/ has a page for each subject and an index; "
        "commands.md is made of --help; documents name modules, tests and rooms that exist",
        (
            DOCS + "test_a_document_keeps_to_its_number_of_words",
            DOCS + "test_the_index_of_the_pages_names_each_page",
            DOCS + "test_the_tables_of_the_commands_are_what_help_says",
            DOCS + "test_every_module_that_a_document_names_exists",
            DOCS + "test_every_invariant_of_the_architecture_names_a_test_that_exists",
            DOCS + "test_the_streets_of_the_architecture_are_those_that_are_enforced",
        ),
    ),
    Requirement(
        "HOUSE-HEART",
        "house",
        "One function for an execution, which needs no turn; refusals are values; what was run is never called refused",
        ("tests/cortex/turn/test_execution.py::",),
    ),
    Requirement(
        "HOUSE-SPINE",
        "house",
        "A fact is announced once: the audit hears it first and may refuse; a listener that raises or is slow never "
        "disturbs a run",
        (
            "tests/cortex/audit/test_spine.py::",
            "tests/cortex/test_motor_cortex.py::test_listeners_hear_what_happens_in_every_turn_and_what_the_owner_decides",
        ),
    ),
    Requirement(
        "HOUSE-PORTS",
        "house",
        "The kill switch stops any runtime, and nothing outside of the sandbox asks whether a runtime is Deno",
        (
            LAYERS + "test_no_other_package_asks_whether_a_runtime_is_deno",
            "tests/cortex/test_motor_cortex.py::test_the_kill_switch_stops_a_runtime_that_is_not_deno",
        ),
    ),
    # The code execution runtime (source 000)
    Requirement(
        "000-AC3.1",
        "000",
        "The agent can write TypeScript and have it run in a Deno process",
        (CODE + "test_code_runs_as_written",),
    ),
    Requirement(
        "000-AC3.2",
        "000",
        "Requests to hosts on the allowlist are made",
        (TIER + "test_fetch_is_the_standard_one",),
    ),
    Requirement(
        "000-AC3.3",
        "000",
        "Files in a scoped folder, and in no other",
        (
            FOLDER + "test_a_run_sees_its_changes_and_the_folder_does_not_until_they_are_committed",
            FOLDER + "test_no_path_leads_out_of_the_folder",
        ),
    ),
    Requirement(
        "000-AC3.4",
        "000",
        "Code can call host tools over the bridge and receives their results",
        (TOOLS + "test_a_tool_is_called_and_its_answer_returned", TOOLS + "test_calls_run_in_parallel"),
    ),
    Requirement(
        "000-AC3.5", "000", "Spawning a process is denied", (CODE + "test_what_deno_denies_is_a_permission_error",)
    ),
    Requirement(
        "000-AC3.6", "000", "Environment variables are denied", (CODE + "test_what_deno_denies_is_a_permission_error",)
    ),
    Requirement(
        "000-AC3.7",
        "000",
        "Code that exceeds its time is killed, and that is said",
        (LIMITS + "test_what_takes_too_long_is_answered_at_its_limit",),
    ),
    Requirement(
        "000-AC3.8",
        "000",
        "Code of more than 50 KB is refused before anything runs",
        (LIMITS + "test_code_that_is_too_long_is_refused_before_a_process_is_used",),
    ),
    Requirement(
        "000-AC3.9",
        "000",
        "Requests to hosts that are not allowed are denied",
        (TIER + "test_the_denial_names_the_allowed_hosts", CODE + "test_what_deno_denies_is_a_permission_error"),
    ),
    Requirement(
        "000-output", "000", "Output of more than 1 MB kills the run", (LIMITS + "test_too_much_output_ends_the_run",)
    ),
    Requirement(
        "000-frames",
        "000",
        "Messages are JSON, one a line, with the names of the source; both halves agree",
        (
            FRAMES + "test_the_host_writes_the_golden_line_byte_for_byte",
            FRAMES + "test_the_host_reads_the_golden_line_as_its_meaning",
        ),
    ),
    Requirement(
        "lines-bounded",
        "design 2",
        "A line from an untrusted stream is refused once it exceeds its limit, and takes no more memory than its length",
        ("tests/sandbox/contracts/test_lines.py::",),
    ),
    # The contract of the runtime (source 001)
    Requirement(
        "001-size", "001", "Code size is checked before execution", (LIMITS + "test_the_length_of_code_is_in_bytes",)
    ),
    Requirement("001-output", "001", "Output size is capped", (LIMITS + "test_hidden_frames_count_as_output",)),
    Requirement(
        "001-timeout", "001", "Execution times out", (LIMITS + "test_the_default_time_holds_when_none_is_asked_for",)
    ),
    Requirement(
        "001-calls", "001", "Tool calls are limited in number", (TOOLS + "test_the_number_of_calls_is_limited",)
    ),
    Requirement(
        "001-permissions",
        "001",
        "No process, environment or foreign functions; the process never has more than configured",
        (
            CODE + "test_what_deno_denies_is_a_permission_error",
            "tests/sandbox/process/test_command.py::test_the_command_line_is_exactly_this",
        ),
    ),
    Requirement(
        "001-cleanup",
        "001",
        "Nothing temporary stays behind",
        (ENDS + "test_hundreds_of_mixed_executions_leave_nothing",),
    ),
    Requirement(
        "001-host-side",
        "001",
        "All limits are enforced by the host and not left to the sandbox",
        (
            LIMITS + "test_a_guest_that_does_not_cut_its_result_is_held_to_it",
            LIMITS + "test_a_frame_that_is_too_long_ends_the_run",
            LIMITS + "test_hidden_frames_count_as_output",
        ),
    ),
    # The sandbox foundation (source 004)
    Requirement(
        "004-1",
        "004",
        "There is a sandbox module",
        ("tests/test_layers.py::test_a_door_says_what_is_behind_it_and_opens_for_each_of_its_names",),
    ),
    Requirement(
        "004-2",
        "004",
        "Deno is started with explicit permissions",
        (
            "tests/sandbox/process/test_command.py::test_the_command_line_is_exactly_this",
            "tests/sandbox/process/test_command.py::test_the_environment_is_exactly_this",
        ),
    ),
    Requirement(
        "004-3",
        "004",
        "Execution is isolated from the file system",
        (CODE + "test_no_module_can_be_loaded_from_outside",),
    ),
    Requirement(
        "004-4",
        "004",
        "Timeout, 30 s by default, configurable",
        (LIMITS + "test_the_default_time_holds_when_none_is_asked_for",),
    ),
    Requirement(
        "004-5",
        "004",
        "Memory is limited, 512 MB by default",
        (LIMITS + "test_the_heap_has_a_limit_of_its_own", LIMITS + "test_memory_of_every_kind_is_limited"),
    ),
    Requirement(
        "004-6",
        "004",
        "Errors are captured and structured",
        (
            CODE + "test_whatever_is_thrown_becomes_a_runtime_error",
            CODE + "test_a_syntax_error_names_the_place_in_the_code",
        ),
    ),
    Requirement(
        "004-7",
        "004",
        "Return values are JSON",
        (
            CODE + "test_a_value_that_json_has_a_form_for_is_returned",
            CODE + "test_a_value_that_json_has_no_form_for_is_an_error_that_says_where",
        ),
    ),
    Requirement(
        "004-8",
        "004",
        "Tests prove isolation: /etc/passwd cannot be read",
        (CODE + "test_what_deno_denies_is_a_permission_error",),
    ),
    Requirement(
        "004-9",
        "004",
        "Start-up and overhead are measured",
        ("tests/test_benchmarks.py::test_the_benchmark_runs_and_prints_its_table",),
    ),
    # Testing requirements of Phase 1 (source 003)
    Requirement(
        "003-guard",
        "003",
        "Known bypasses of the guard are caught or harmless",
        (GUARD + "test_a_known_bypass_is_not_caught_and_harmless",),
    ),
    Requirement(
        "003-patterns", "003", "The ten patterns are found", (GUARD + "test_a_pattern_is_caught_however_it_is_spelled",)
    ),
    Requirement(
        "003-timeout",
        "003",
        "The kill fires and the host recovers",
        (
            LIMITS + "test_what_takes_too_long_is_answered_at_its_limit",
            ENDS + "test_cancelling_the_caller_kills_the_process",
        ),
    ),
    Requirement(
        "003-result", "003", "A result is cut at 32 KB", (LIMITS + "test_a_long_result_is_cut_and_its_size_is_said",)
    ),
    Requirement(
        "003-errors",
        "003",
        "All error shapes reach the model",
        ("tests/cortex/contracts/test_replies.py::test_each_outcome_has_its_string",),
    ),
    Requirement(
        "003-crash",
        "003",
        "A crash of the process does not touch the host",
        (
            CODE + "test_a_run_that_ends_without_an_answer_is_a_crash",
            ENDS + "test_killing_the_process_in_the_middle_is_a_crash",
        ),
    ),
    # The runtime as we promise it
    Requirement(
        "hands-hostile",
        "design",
        "Whatever comes up the pipe is hostile: bounded in size, count and time",
        (
            "tests/sandbox/test_hostile.py::test_a_forged_error_is_cut_and_answered_at_once",
            "tests/sandbox/test_hostile.py::test_large_calls_that_wait_for_an_answer_are_limited_together",
        ),
    ),
    Requirement("hands-loops", "design", "Both asyncio and trio", (CODE + "test_code_runs_as_written",)),
    Requirement("hands-context", "design", "Megabytes of context", (CODE + "test_megabytes_of_context_arrive_whole",)),
    Requirement("hands-once", "design", "Code runs once", (CODE + "test_code_runs_only_once",)),
    Requirement(
        "hands-positions",
        "design",
        "Positions are the agent's own, no host path",
        (CODE + "test_a_stack_is_in_the_lines_of_the_code_and_names_no_path",),
    ),
    Requirement(
        "hands-globals",
        "design",
        "A ReferenceError lists the globals",
        (CODE + "test_a_reference_error_lists_the_globals_that_exist",),
    ),
    Requirement(
        "hands-logs",
        "design",
        "Console is captured in order, and kept when a run fails",
        (CODE + "test_console_is_captured_in_order_with_its_level", CODE + "test_logs_are_kept_when_the_run_fails"),
    ),
    Requirement("hands-metrics", "design", "Metrics on every outcome", (CODE + "test_every_outcome_has_metrics",)),
    Requirement(
        "hands-residue",
        "design",
        "Nothing passes from one run to the next",
        (CODE + "test_what_one_run_stores_is_not_there_for_the_next",),
    ),
    Requirement(
        "hands-death",
        "design",
        "When the host is killed, its processes die",
        (ENDS + "test_when_the_host_is_killed_its_processes_die_too", CLI + "test_a_signal_ends_it_and_leaves_nothing"),
    ),
    Requirement(
        "hands-soak",
        "design",
        "Thousands of executions leave nothing",
        (ENDS + "test_thousands_of_mixed_executions_leave_nothing",),
    ),
    Requirement(
        "hands-plain",
        "design",
        "Systems without the launcher keep the limits that they can",
        (ENDS + "test_without_the_launcher_everything_but_the_exact_limit_works",),
    ),
    Requirement(
        "hands-launcher",
        "design",
        "The launcher starts, limits, kills and reaps",
        ("tests/sandbox/jail/test_launcher.py::test_a_process_is_started_limited_killed_and_reaped",),
    ),
    Requirement(
        "hands-diagnosis",
        "design",
        "Failures are explained",
        ("tests/sandbox/run/test_diagnostics.py::test_a_process_that_died_is_explained",),
    ),
    Requirement(
        "tools-names",
        "design",
        "Every tool name has a defined place",
        (
            "tests/sandbox/tool_types/test_tool_names.py::test_every_name_has_a_place_that_code_can_write",
            "tests/sandbox/tool_types/test_tool_names.py::test_places_are_identifiers_and_never_shared",
        ),
    ),
    Requirement(
        "tools-grant",
        "design",
        "A tool that was not lent cannot be called",
        (TOOLS + "test_a_tool_that_was_not_lent_is_never_called",),
    ),
    Requirement(
        "tools-checks",
        "design",
        "Arguments are validated on the host",
        (TOOLS + "test_arguments_are_checked_on_the_host",),
    ),
    Requirement(
        "tools-errors",
        "design",
        "Errors carry tool, code and retryable",
        (TOOLS + "test_an_error_can_be_caught_and_says_what_it_is",),
    ),
    Requirement(
        "tools-slow",
        "design",
        "A slow tool blocks nothing",
        (TOOLS + "test_a_slow_tool_blocks_neither_output_nor_other_tools_nor_timers",),
    ),
    Requirement(
        "tools-raise",
        "design",
        "A tool that raises never takes the host down",
        (TOOLS + "test_a_tool_that_raises_shows_its_text_to_the_log_and_not_to_the_code",),
    ),
    Requirement(
        "tools-types",
        "design",
        "TypeScript declarations from JSON Schema",
        ("tests/sandbox/tool_types/test_declarations.py::test_a_tool_is_declared_where_the_code_finds_it",),
    ),
    Requirement(
        "pool-warm",
        "design",
        "Processes are started ahead and serve once",
        (
            POOL + "test_a_warm_process_is_handed_out_and_replaced",
            POOL + "test_every_execution_has_a_process_of_its_own",
        ),
    ),
    Requirement(
        "pool-burst",
        "design",
        "A burst falls back to cold starts",
        (POOL + "test_a_burst_beyond_the_pool_starts_more",),
    ),
    Requirement(
        "pool-dead",
        "design",
        "A dead process is never handed out",
        (POOL + "test_a_waiting_process_that_dies_is_replaced_and_never_handed_out",),
    ),
    Requirement(
        "pool-failure",
        "design",
        "A start-up failure is one clear error",
        (
            POOL + "test_a_deno_that_is_missing_is_one_clear_error",
            POOL + "test_something_else_in_place_of_deno_is_one_clear_error",
        ),
    ),
    Requirement(
        "cli-run",
        "design",
        "cortex run",
        (CLI + "test_a_script_from_a_file_prints_its_result_alone_on_stdout", CLI + "test_json_is_for_programs"),
    ),
    Requirement(
        "cli-bad-input",
        "design",
        "Bad input has a clear error and the documented exit code",
        (CLI + "test_bad_input_has_a_clear_error_and_its_exit_code",),
    ),
    Requirement("cli-doctor", "design", "cortex doctor tries what it reports", (CLI + "test_doctor_tries_everything",)),
    Requirement(
        "doctor-honest",
        "design",
        "The doctor notices what does not hold",
        ("tests/sandbox/test_doctor.py::test_permissions_are_tried_without_any_layer_behind_them",),
    ),
    Requirement(
        "cli-quick",
        "design",
        "The command line imports what it needs",
        (CLI + "test_a_plain_run_imports_nothing_that_it_does_not_need",),
    ),
    Requirement(
        "cli-terminal",
        "design",
        "Nothing printed by a script steers the terminal",
        ("tests/cortex/text/test_terminal.py::test_characters_that_control_a_terminal_are_spelled_out",),
    ),
    Requirement(
        "settings-known",
        "design",
        "Unknown settings are an error that names the one that was meant",
        (
            SETTING + "test_an_invalid_setting_is_named_in_the_error",
            SETTING + "test_an_unknown_variable_of_ours_is_a_mistake_and_the_one_that_was_meant_is_named",
            CONFIG + "test_an_unknown_setting_is_an_error_that_names_the_nearest_setting",
        ),
    ),
    Requirement(
        "settings-where",
        "design",
        "cortex config prints the settings in force and where each came from, and no secret",
        (
            SETTING + "test_each_setting_is_explained_with_its_source",
            SETTING + "test_every_setting_is_explained",
            SETTING + "test_explained_settings_hide_secrets",
            CONFIG + "test_without_a_terminal_it_prints_a_file_that_gives_the_same_settings",
            CONFIG + "test_secrets_are_not_printed",
        ),
    ),
    Requirement(
        "settings-file",
        "design",
        "config/defaults.toml has every setting with its default",
        (SETTING + "test_defaults_toml_has_the_defaults_of_the_code",),
    ),
    Requirement(
        "home",
        "design",
        "State lives in a home that its owner chooses and that nobody else can change",
        (
            SETTING + "test_the_home_is_the_users_data_folder_unless_the_owner_sets_another",
            HOME + "test_a_folder_is_made_when_it_is_asked_for_and_is_nobody_elses",
            HOME + "test_a_home_that_others_can_write_to_is_refused",
            HOME + "test_a_home_of_another_user_is_refused",
        ),
    ),
    Requirement(
        "street",
        "design",
        "Folders import to the left, through doors",
        ("tests/test_layers.py::test_folders_import_only_to_their_left_and_through_doors",),
    ),
    Requirement(
        "wheel",
        "design",
        "The wheel works without the checkout",
        ("tests/test_wheel.py::test_the_wheel_runs_a_script_without_the_checkout",),
    ),
    Requirement("docs-run", "design", "README, examples and docs are executed", ("tests/test_docs.py::",)),
    # The wall
    Requirement(
        "wall-A",
        "design 2",
        "Every attack on authority fails a second time with Deno's permissions off",
        (
            ESCAPES + "test_the_property_of_an_escape_program_holds_without_denos_permissions",
            ESCAPES + "test_most_programs_about_authority_succeed_where_nothing_is_in_their_way",
        ),
    ),
    Requirement(
        "wall-layers",
        "design 2",
        "Each layer is detected, applied and tried alone; one that does not hold is found out",
        (
            JAIL + "test_every_layer_stops_alone_what_it_is_there_for",
            JAIL + "test_a_layer_that_is_unwired_is_found_out",
            DOCTOR + "test_all_is_well_here",
            CLI + "test_doctor_tries_everything",
        ),
    ),
    Requirement(
        "wall-ties",
        "design 2",
        "Own session, parent death, no new privileges, nothing inherited, limits on CPU, files, cores and memory",
        (
            "tests/sandbox/jail/test_launcher.py::test_a_process_is_started_limited_killed_and_reaped",
            "tests/sandbox/jail/test_launcher.py::test_a_process_has_nothing_of_its_surroundings",
            JAIL + "test_a_memory_limit_that_the_system_refuses_prevents_the_start",
        ),
    ),
    Requirement(
        "wall-seccomp",
        "design 2",
        "No sockets, no processes, no second program, no ptrace, no io_uring, signals to itself only",
        (SECCOMP + "test_what_is_not_named_does_not_exist", SECCOMP + "test_some_calls_depend_on_their_arguments"),
    ),
    Requirement(
        "wall-level",
        "design 2",
        "The achieved level is in the metrics of every outcome",
        (JAIL + "test_here_the_wall_is_whole", JAIL + "test_what_a_machine_lacks_is_said_loudly_and_gone_without"),
    ),
    Requirement(
        "wall-require",
        "design 2",
        "Required layers that do not hold are a refusal to start; what is missing is said loudly",
        (
            JAIL + "test_what_is_required_and_lacking_is_a_refusal_to_start",
            JAIL + "test_what_stands_against_a_start",
            JAIL + "test_a_second_launcher_must_not_build_a_lower_wall",
            DOCTOR + "test_layers_that_are_missing_are_shown_with_the_reason",
        ),
    ),
    Requirement(
        "wall-elsewhere",
        "design 2",
        "Without the layers, Deno's wall, the host's limits and a watched memory limit remain",
        (
            JAIL + "test_without_the_launcher_only_the_session_holds",
            "tests/sandbox/contracts/test_memory.py::test_the_watch_works_without_proc_and_without_a_launcher",
            ENDS + "test_without_the_launcher_everything_but_the_exact_limit_works",
        ),
    ),
    Requirement(
        "wall-self-test",
        "design 2",
        "A known script is run through the whole stack once for each binary; a layer that breaks Deno is reported",
        (
            JAIL + "test_the_self_test_runs_once_for_each_binary",
            JAIL + "test_a_layer_that_deno_does_not_run_behind_is_a_refusal_that_names_it",
            JAIL + "test_a_broken_layer_that_is_not_required_is_left_out_and_said",
        ),
    ),
    # The network tier
    Requirement(
        "net-fetch",
        "design 2",
        "A standard fetch, by the host; in the isolated tier one sentence that names the tier",
        (
            TIER + "test_fetch_is_the_standard_one",
            TIER + "test_an_abort_ends_the_request_in_the_host_too",
            TIER + "test_in_the_isolated_tier_fetch_names_the_tier",
            NET + "test_fetch.py::test_an_answer_has_its_url_status_headers_and_body",
        ),
    ),
    Requirement(
        "net-policy",
        "design 2",
        "Allowlist of hosts, ports, methods, paths; https only unless said otherwise; deny beats allow; empty is nothing",
        (
            NET + "test_policy.py::test_an_empty_allowlist_means_nothing",
            NET + "test_policy.py::test_deny_beats_allow",
            NET + "test_policy.py::test_only_https_unless_the_entry_says_otherwise",
            NET + "test_policy.py::test_no_spelling_of_a_path_escapes_its_prefix",
            NET + "test_urls.py::test_what_two_parsers_might_read_in_two_ways_is_no_url",
        ),
    ),
    Requirement(
        "net-addresses",
        "design 2",
        "All resolved addresses are checked, the connection goes to the checked one, with the certificate of the name",
        (
            NET + "test_addresses.py::test_an_ipv4_address_is_refused_in_all_its_ipv6_clothes",
            NET + "test_connections.py::test_one_bad_address_among_good_ones_is_enough",
            NET + "test_connections.py::test_dns_that_changes_its_answer_after_the_check_changes_nothing",
            NET + "test_connections.py::test_a_certificate_for_another_name_is_refused",
        ),
    ),
    Requirement(
        "net-redirects",
        "design 2",
        "Every redirect is checked anew",
        (
            NET + "test_redirects.py::test_a_redirect_to_a_host_that_is_not_allowed_is_denied",
            NET + "test_redirects.py::test_the_body_of_a_307_never_goes_to_a_host_that_is_not_allowed",
        ),
    ),
    Requirement(
        "net-limits",
        "design 2",
        "Requests, bytes after decompression, total bytes and time are limited; each is an error that can be caught",
        (
            TIER + "test_limits_are_errors_that_can_be_caught",
            TIER + "test_an_endless_answer_is_a_limit_and_not_the_end_of_the_host",
            NET + "test_bounds.py::test_a_request_beyond_a_bound_is_told_and_never_sent",
            NET + "test_hostile.py::",
        ),
    ),
    Requirement(
        "net-secrets",
        "design 2",
        "Secrets are added for their host only, never seen by the code, and redacted when a server echoes them",
        (
            TIER + "test_a_secret_is_sent_and_never_seen",
            NET + "test_secrets.py::test_a_secret_goes_to_its_own_host_only",
            NET + "test_secrets.py::test_an_echo_is_redacted_in_whatever_spelling",
        ),
    ),
    Requirement(
        "net-replay",
        "design 2",
        "Exchanges can be recorded, without secrets, and replayed instead of the network",
        (
            TIER + "test_what_was_recorded_is_replayed_without_a_network",
            NET + "test_recording.py::",
            CLI + "test_the_network_can_be_allowed_recorded_and_replayed",
        ),
    ),
    # Workspaces
    Requirement(
        "files-overlay",
        "design 2",
        "Reads see the folder and the run's own writes; nothing changes before a commit, nor by a run that fails",
        (
            FOLDER + "test_a_run_sees_its_changes_and_the_folder_does_not_until_they_are_committed",
            FOLDER + "test_a_run_that_fails_changes_nothing",
            FOLDER + "test_a_run_that_is_cancelled_changes_nothing",
            FILES + "test_run.py::test_the_code_sees_its_own_writes_and_the_folder_does_not",
            FILES + "test_model.py::test_any_sequence_of_calls_does_what_it_does_in_a_real_folder",
        ),
    ),
    Requirement(
        "files-commit",
        "design 2",
        "A commit is atomic, whatever happens in the middle of it",
        (
            FILES + "test_crash.py::test_killed_at_any_moment_it_is_the_old_or_the_new_folder",
            FILES + "test_cancelled.py::",
            FILES + "test_uploads.py::",
            FILES + "test_commit.py::test_a_commit_makes_the_changes_and_leaves_nothing_else",
            FILES + "test_commit.py::test_what_another_has_changed_meanwhile_is_a_conflict_and_nothing_changes",
        ),
    ),
    Requirement(
        "files-paths",
        "design 2",
        "Paths stay beneath the folder, without following links, safe against races",
        (
            FOLDER + "test_no_path_leads_out_of_the_folder",
            FILES + "test_paths.py::test_no_input_leaves_the_workspace_and_none_raises_anything_else",
            FILES + "test_races.py::test_reading_never_leaves_through_a_link_that_just_appeared",
            FILES + "test_folder.py::test_a_link_is_listed_and_can_be_removed_and_nothing_else",
        ),
    ),
    Requirement(
        "files-limits",
        "design 2",
        "File size, count and total size are limited",
        (FILES + "test_limits.py::", FOLDER + "test_what_fills_the_disk_is_stopped"),
    ),
    Requirement(
        "files-changes",
        "design 2",
        "outcome.changes lists what a run would change, with sizes, to review before the commit",
        (
            FILES + "test_changes.py::test_changes_are_listed_with_their_sizes",
            CLI + "test_a_workspace_shows_its_changes_and_keeps_them_only_when_told",
        ),
    ),
    Requirement(
        "host-responsive",
        "design 2",
        "Large answers, of the network or of files, neither hold up the event loop nor fill the host",
        (NET + "test_turns.py::", FILES + "test_answers.py::"),
    ),
    Requirement(
        "host-faults",
        "design 2",
        "A fault of the host's own is an error of the call; what was not granted is refused in the host",
        (
            "tests/sandbox/run/test_bridge.py::test_a_fault_of_the_host_is_an_error_of_the_call_without_its_text",
            "tests/sandbox/run/test_bridge.py::test_what_was_not_granted_is_refused_here_whatever_the_guest_says",
        ),
    ),
    Requirement(
        "host-fair",
        "design 2",
        "A flood of lines leaves every other task its turn, and the deadline holds in the middle of it",
        (
            "tests/sandbox/run/test_worker.py::test_lines_that_come_together_are_taken_a_few_at_a_time",
            "tests/sandbox/run/test_worker.py::test_a_process_that_is_ready_before_its_number_is_known_is_measured_all_the_same",
            "tests/sandbox/run/test_worker.py::test_the_deadline_holds_also_between_lines_that_came_together",
            ESCAPES + "test_a_host_that_holds_up_its_event_loop_is_noticed",
            ESCAPES + "test_only_what_a_busy_machine_can_spoil_is_measured_again",
        ),
    ),
    Requirement(
        "cpu-time",
        "design 5",
        "What a run computes is measured, and no way of ending escapes that",
        ("tests/sandbox/run/test_cpu_time.py::",),
    ),
    Requirement(
        "person-decides",
        "design 4",
        "The time of a run that waits, and of its tool, stands still while a person is asked, bounded; computing counts",
        ("tests/sandbox/run/test_person.py::", "tests/sandbox/run/test_run_clock.py::"),
    ),
    Requirement(
        "start-early",
        "design 7",
        "The command line starts the launcher and Deno while it loads, and loads nothing that it does not need",
        ("tests/sandbox/process/test_head_start.py::", "tests/sandbox/test_doors.py::"),
    ),
    Requirement(
        "closed-is-closed",
        "design 2",
        "A start that comes after the end of the runtime starts nothing",
        (ENDS + "test_a_start_that_comes_after_the_end_starts_nothing",),
    ),
    Requirement(
        "start-cancelled",
        "design 2",
        "A start that is cancelled or refused leaves neither a process nor a note, also without the launcher",
        ("tests/sandbox/process/test_plain_spawner.py::",),
    ),
    Requirement(
        "closing-cancelled",
        "design 2",
        "A runtime that is cancelled while it closes leaves nothing, whatever cancels it and when",
        ("tests/sandbox/test_closing.py::",),
    ),
    # Proof
    Requirement(
        "proof-escapes",
        "design 2",
        "Attack programs of every class against the real runtime, while the host stays small, quick and usable",
        (
            ESCAPES + "test_the_property_of_an_escape_program_holds",
            ESCAPES + "test_there_are_programs_of_every_class_and_tier",
            ESCAPES + "test_programs_succeed_where_nothing_is_in_their_way",
        ),
    ),
    Requirement(
        "proof-faults",
        "design 2",
        "Killed guests and hosts, closed and full pipes, a Deno that goes away, 200 runs with a third hostile",
        (
            FAULTS + "test_a_process_killed_at_any_moment_is_a_crash_at_once_and_the_next_run_works",
            FAULTS + "test_no_process_survives_its_killed_host",
            FAULTS + "test_of_two_hundred_at_once_with_a_third_hostile_every_caller_gets_its_own_answer",
            FAULTS + "test_a_fuzzed_stream_is_frames_or_refused_however_it_is_cut",
        ),
    ),
    Requirement(
        "requirements",
        "design",
        "This list is checked",
        ("tests/test_requirements.py::test_every_test_that_a_requirement_names_exists",),
    ),
)

# Each setting by its section, and the test that fails when nothing reads it.
SETTINGS = {
    **of_the_cortex.SETTINGS,
    **of_the_neurons.SETTINGS,
    **of_code_mode.SETTINGS,
    **of_runs.SETTINGS,
    **of_the_inbox.SETTINGS,
    **of_the_store.SETTINGS,
    **of_the_console.SETTINGS,
    **of_telemetry.SETTINGS,
    **of_workflow_agents.SETTINGS,
    "": {
        "home": SETTING + "test_the_home_is_the_users_data_folder_unless_the_owner_sets_another",
        "mcpServers": "tests/cortex/turn/test_code_mode.py::"
        "test_code_calls_tools_of_a_server_by_its_own_names_and_in_camel_case",
    },
    "sandbox": {
        "require": JAIL + "test_what_is_required_and_lacking_is_a_refusal_to_start",
        "network": TIER + "test_without_a_policy_the_settings_decide_and_they_allow_nothing",
        "workspace": FOLDER + "test_the_settings_limit_a_workspace",
        "deno_path": POOL + "test_a_deno_that_is_missing_is_one_clear_error",
        "pool_size": POOL + "test_a_pool_of_none_starts_a_process_for_each",
        "max_worker_age_s": POOL + "test_a_process_that_is_too_old_is_recycled",
        "start_timeout_ms": POOL + "test_something_else_in_place_of_deno_is_one_clear_error",
        "max_concurrent": LIMITS + "test_no_more_than_the_limit_run_at_once",
        "max_queued": LIMITS + "test_the_queue_is_bounded_in_length",
        "queue_timeout_ms": LIMITS + "test_waiting_for_a_turn_is_bounded_in_time",
        "default_timeout_ms": LIMITS + "test_the_default_time_holds_when_none_is_asked_for",
        "max_timeout_ms": LIMITS + "test_a_request_cannot_ask_for_more_time_than_the_settings_give",
        "max_heap_mb": LIMITS + "test_the_heap_has_a_limit_of_its_own",
        "max_memory_mb": LIMITS + "test_memory_of_every_kind_is_limited",
        "max_code_bytes": LIMITS + "test_code_that_is_too_long_is_refused_before_a_process_is_used",
        "max_context_bytes": LIMITS + "test_a_context_that_is_not_json_or_too_large_is_refused",
        "max_result_bytes": LIMITS + "test_a_long_result_is_cut_and_its_size_is_said",
        "max_output_bytes": LIMITS + "test_too_much_output_ends_the_run",
        "max_frame_bytes": LIMITS + "test_a_frame_that_is_too_long_ends_the_run",
        "max_tool_calls": TOOLS + "test_the_number_of_calls_is_limited",
        "max_tool_calls_at_once": TOOLS
        + "test_no_more_tools_work_at_once_than_the_settings_allow_and_the_others_come_in_order",
        "tool_timeout_ms": TOOLS + "test_a_tool_that_never_answers_times_out",
        "max_tool_result_bytes": TOOLS + "test_a_result_that_is_too_large_is_an_error_of_the_tool",
        **of_pictures.SANDBOX_SETTINGS,
        "max_starting": POOL + "test_no_more_processes_are_started_at_once_than_the_setting_says",
    },
    "sandbox.network": {
        "allow": NET + "test_policy.py::test_an_empty_allowlist_means_nothing",
        "deny": NET + "test_policy.py::test_deny_beats_allow",
        "max_requests": NET + "test_hostile.py::test_a_run_sends_no_more_than_its_requests",
        "max_request_bytes": NET + "test_bounds.py::test_a_request_beyond_a_bound_is_told_and_never_sent",
        "max_response_bytes": NET + "test_hostile.py::test_an_endless_body_stops_at_the_limit",
        "max_total_bytes": NET + "test_hostile.py::test_a_run_receives_no_more_than_its_total",
        "request_timeout_ms": NET + "test_hostile.py::test_a_server_that_drips_runs_into_one_clock",
        "max_redirects": NET + "test_redirects.py::test_a_redirect_loop_ends",
        "max_connections": NET + "test_bounds.py::test_no_more_connections_than_the_setting_are_open_at_once",
        "max_url_bytes": NET + "test_bounds.py::test_a_request_beyond_a_bound_is_told_and_never_sent",
        "max_headers": NET + "test_bounds.py::test_a_request_beyond_a_bound_is_told_and_never_sent",
        "max_header_bytes": NET + "test_bounds.py::test_a_request_beyond_a_bound_is_told_and_never_sent",
        "secrets_file": NET + "test_secrets.py::test_secrets_come_from_the_file_and_from_the_environment",
        "ca_file": NET + "test_connections.py::test_tls_goes_to_the_checked_address_and_asks_for_the_name",
        "recorder": NET + "test_recording.py::test_what_was_recorded_is_replayed_without_a_network",
        "replay": NET + "test_recording.py::test_what_was_recorded_is_replayed_without_a_network",
    },
    "sandbox.workspace": {
        "max_file_bytes": FILES + "test_limits.py::test_a_file_may_not_grow_beyond_its_limit",
        "max_files": FILES + "test_limits.py::test_the_paths_that_a_run_changes_have_a_limit",
        "max_total_bytes": FILES
        + "test_limits.py::test_all_that_a_run_writes_has_a_limit_and_what_it_gives_back_is_free_again",
        "max_calls": FILES + "test_limits.py::test_the_calls_of_a_run_have_a_limit",
        "max_entries": FILES + "test_limits.py::test_a_listing_has_a_limit",
    },
}
