"""Each promise of the source documents that is kept so far, and the tests that hold us to it.

`tests/test_requirements.py` checks both ways: every test named here exists, every test file keeps some promise, and
every setting of the sandbox has a test that fails when it is unwired.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Requirement:
    id: str
    source: str
    promise: str
    tests: tuple[str, ...]


CODE = "tests/sandbox/test_code.py::"
LIMITS = "tests/sandbox/test_limits.py::"
ENDS = "tests/sandbox/test_ends.py::"
TOOLS = "tests/sandbox/test_tools.py::"
POOL = "tests/sandbox/test_pool.py::"
GUARD = "tests/sandbox/test_guard.py::"
FRAMES = "tests/sandbox/test_frames.py::"
CLI = "tests/cortex/test_command_line.py::"

REQUIREMENTS = (
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
        "Requests to hosts on the allowlist (not yet: the network tier is refused)",
        (LIMITS + "test_the_network_tier_is_refused_while_there_is_no_network",),
    ),
    Requirement(
        "000-AC3.3",
        "000",
        "Files in a scoped folder (not yet: no file can be read or written)",
        (CODE + "test_what_deno_denies_is_a_permission_error",),
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
        (CODE + "test_what_deno_denies_is_a_permission_error",),
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
            "tests/sandbox/test_command.py::test_the_command_line_is_exactly_this",
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
        "004-1", "004", "There is a sandbox module", ("tests/test_layers.py::test_doors_are_sorted_and_tell_the_truth",)
    ),
    Requirement(
        "004-2",
        "004",
        "Deno is started with explicit permissions",
        (
            "tests/sandbox/test_command.py::test_the_command_line_is_exactly_this",
            "tests/sandbox/test_command.py::test_the_environment_is_exactly_this",
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
        ("tests/cortex/test_replies.py::test_each_outcome_has_its_string",),
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
        ("tests/sandbox/test_launcher.py::test_a_process_is_started_limited_killed_and_reaped",),
    ),
    Requirement(
        "hands-diagnosis",
        "design",
        "Failures are explained",
        ("tests/sandbox/test_diagnostics.py::test_a_process_that_died_is_explained",),
    ),
    Requirement(
        "tools-names",
        "design",
        "Every tool name has a defined place",
        (
            "tests/sandbox/test_tool_names.py::test_every_name_has_a_place_that_code_can_write",
            "tests/sandbox/test_tool_names.py::test_places_are_identifiers_and_never_shared",
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
        ("tests/sandbox/test_declarations.py::test_a_tool_is_declared_where_the_code_finds_it",),
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
        ("tests/sandbox/test_doctor.py::test_a_memory_limit_that_does_not_hold_is_broken",),
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
        ("tests/cortex/test_terminal.py::test_what_could_steer_a_terminal_is_spelled_out",),
    ),
    Requirement(
        "settings-known",
        "design",
        "Unknown settings are an error",
        ("tests/cortex/test_settings.py::test_a_mistake_is_named",),
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
    Requirement(
        "requirements",
        "design",
        "This list is checked",
        ("tests/test_requirements.py::test_every_test_that_is_named_exists",),
    ),
)

# Each setting of the sandbox, and the test that fails when nothing reads it.
SETTINGS = {
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
    "tool_timeout_ms": TOOLS + "test_a_tool_that_never_answers_times_out",
    "max_tool_result_bytes": TOOLS + "test_a_result_that_is_too_large_is_an_error_of_the_tool",
    "max_starting": POOL + "test_no_more_processes_are_started_at_once_than_the_setting_says",
}
