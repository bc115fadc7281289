"""Promises about small things: errors that help, ends of a turn, homes that do not exist. Part of
`tests/requirements.py`."""

from __future__ import annotations

from tests.requirement import Requirement

REQUIREMENTS = (
    Requirement(
        "SMALL-RETRY",
        "013",
        "A retry is announced only when it follows",
        (
            "tests/cortex/models/test_openai_model.py::test_a_retry_is_announced_only_when_one_follows",
            "tests/cortex/models/test_openai_model.py::test_a_retry_that_would_come_after_the_timeout_is_neither_announced_nor_waited_for",
        ),
    ),
    Requirement(
        "SMALL-REPEATS",
        "013",
        "The same failing call ends a turn after the third, with a clear word; the model is warned after the second",
        (
            "tests/cortex/loop/test_turn.py::test_the_same_impossible_call_ends_the_turn_after_the_third_with_a_clear_word",
            "tests/cortex/loop/test_turn.py::test_calls_that_differ_or_succeed_in_between_are_not_the_same_impossible_call",
        ),
    ),
    Requirement(
        "SMALL-TRIO",
        "013",
        "The example for trio says what to install where trio is missing",
        ("tests/examples/test_trio_run.py::",),
    ),
    Requirement(
        "SMALL-HOME",
        "013",
        "A command that looks at a home says when --home names none; a command that keeps something makes it",
        ("tests/cortex/commands/test_missing_home.py::",),
    ),
    Requirement(
        "SMALL-ENERGY",
        "013",
        "cortex energy tells of the kill switch, and calls no run possible while it is on",
        (
            "tests/cortex/energy/test_energy_command.py::test_a_kill_switch_that_is_on_is_said_and_no_run_is_called_possible",
        ),
    ),
    Requirement(
        "SMALL-WRAP",
        "013",
        "/help and doctor break between words at 80 columns",
        (
            "tests/cortex/chat/test_parts.py::test_help_breaks_between_words_and_fits_the_terminal",
            "tests/cortex/commands/test_command_line.py::test_doctor_breaks_between_words_in_a_terminal_of_80_columns",
        ),
    ),
    Requirement(
        "SMALL-MCP-NAMES",
        "013",
        "Uncaught errors of MCP tools are named MCPToolError; a name put together at run time finds what was lent",
        (
            "tests/sandbox/test_tools.py::test_an_mcp_tool_error_that_nobody_catches_names_server_and_tool",
            "tests/cortex/turn/test_code_mode.py::test_a_name_put_together_at_run_time_works_among_the_tools_that_were_lent",
        ),
    ),
    Requirement(
        "SMALL-SLIPS",
        "013",
        "Python is answered with what runs here, and common slips with a sentence each; valid code is never misjudged",
        ("tests/sandbox/guard/test_slips.py::",),
    ),
    Requirement(
        "SMALL-ERROR-DETAIL",
        "013",
        "Of an exception of a tool the class is told; its message, redacted and bounded, where the owner says so",
        ("tests/cortex/tools/test_error_detail.py::",),
    ),
)
