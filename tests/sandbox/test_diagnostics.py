from __future__ import annotations

import signal

import pytest

from sandbox import ErrorType
from sandbox.diagnostics import FIRST_LINE_COLUMNS, diagnose, died, trim
from sandbox.frames import Failure


@pytest.mark.parametrize(
    ("status", "stderr", "much", "kind", "message"),
    [
        (-signal.SIGTRAP, b"Fatal process out of memory: Zone", False, ErrorType.MEMORY, "more memory"),
        (-signal.SIGABRT, b"memory allocation of 65536 bytes failed", False, ErrorType.MEMORY, "more memory"),
        (-signal.SIGTRAP, b"Reached heap limit", False, ErrorType.MEMORY, "more memory"),
        (-signal.SIGSEGV, b"", True, ErrorType.MEMORY, "more memory"),
        (-signal.SIGSEGV, b"", False, ErrorType.CRASH, "was ended by signal 11"),
        (-signal.SIGKILL, b"", True, ErrorType.CRASH, "was ended by signal 9"),
        (0, b"", True, ErrorType.CRASH, "ended by itself with exit code 0"),
        (None, b"", False, ErrorType.CRASH, "closed its output"),
    ],
)
def test_a_process_that_died_is_explained(status, stderr, much, kind, message):
    error = died(status, stderr, had_much_memory=much)
    assert error.type == kind
    assert message in error.message


def failure(name="TypeError", message="x", stack="", phase="run"):
    return Failure(phase, name, message, stack)


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (failure("NotCapable", "Requires read access"), ErrorType.PERMISSION),
        (failure("PermissionDenied"), ErrorType.PERMISSION),
        (failure("ToolError"), ErrorType.TOOL),
        (failure("RangeError", "Array buffer allocation failed"), ErrorType.MEMORY),
        (failure("RangeError", "WebAssembly.Memory(): could not allocate memory"), ErrorType.MEMORY),
        (failure("RangeError", "Invalid array length"), ErrorType.RUNTIME),
        (failure("SyntaxError", "Unexpected token", phase="run"), ErrorType.RUNTIME),
        (failure("SyntaxError", "Unexpected token", phase="compile"), ErrorType.SYNTAX),
    ],
)
def test_a_failure_is_sorted_by_what_it_is(frame, kind):
    assert diagnose(frame, "code", []).type == kind


def test_frames_of_the_harness_and_of_deno_are_left_out_of_a_stack():
    column = FIRST_LINE_COLUMNS + 7
    stack = (
        "TypeError: x\n    at f (code.js, <anonymous>:5:9)\n    at async eval (code.js, <anonymous>:3:%d)\n"
        "    at Object.readTextFileSync (ext:deno_fs/30_fs.js:1:2)\n    at run (harness.js:10:2)\n"
        "    at file:///home/somebody/deno/main.ts:3:4\n"
    ).replace("%d", str(column))
    assert trim(stack, "TypeError: x") == "TypeError: x\n    at f (code:3:9)\n    at code:1:7"


def test_a_stack_without_frames_of_the_code_is_none():
    assert trim("Error: x\n    at run (harness.js:1:1)", "Error: x") is None


def test_the_place_of_a_syntax_error_is_shown_under_its_line():
    message = "SyntaxError: Expression expected\n  |\n    at data:application/typescript;base64,QUJD:2:7"
    error = diagnose(failure("TypeError", message, phase="compile"), "let a;\nlet : = 3;", [])
    assert error.message == "Expression expected (line 2, column 7)\n  let : = 3;\n        ^"


def test_advice_for_denos_own_command_line_is_left_out():
    message = 'Requires read access to "/x", run again with the --allow-read flag'
    assert "--allow" not in diagnose(failure("NotCapable", message), "", []).message
