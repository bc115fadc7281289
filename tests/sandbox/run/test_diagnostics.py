from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from sandbox import ErrorType, Tier
from sandbox.contracts.frames import Failure
from sandbox.run.diagnostics import (
    FILE_FUNCTIONS,
    FILES,
    FIRST_LINE_COLUMNS,
    NETWORK,
    NO_IMPORTS,
    NO_PERMISSIONS,
    diagnose,
    died,
    trim,
)


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
        (1, b"Deno has panicked. This is a bug in Deno.", False, ErrorType.CRASH, "Deno could not compile this code"),
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


READ = failure("NotCapable", 'Requires read access to "a", run again with the --allow-read flag')
WRITE = failure("NotCapable", "Requires write access to <TMP>, run again with the --allow-write flag")
LINK = failure(
    "NotCapable", "Deno.symlink() requires unscoped --allow-read and --allow-write permissions; a grant (e.g. x)"
)
NET = failure("NotCapable", 'Requires net access to "a.b:80", run again with the --allow-net flag')
LOOKUP = failure("Error", "getaddrinfo EPERM a.b")  # what node:http says
ENVIRONMENT = failure("NotCapable", 'Requires env access to "HOME", run again with the --allow-env flag')
IMPORT = failure("TypeError", 'Requires import access to "a.b:443", run again with the --allow-import flag')
FILE = failure("TypeError", 'Requires read access to "/etc/passwd", run again with the --allow-read flag')
NPM = failure("TypeError", "npm specifiers were requested; but --no-npm is specified")
BARE = failure("TypeError", 'Import "lodash" not a dependency')
JSR = failure(
    "TypeError", "JSR package manifest for '@std/path' failed to load. Requires import access to \"jsr.io:443\""
)


@pytest.mark.parametrize("frame", [READ, WRITE, LINK, NET, ENVIRONMENT, IMPORT, NPM, JSR])
def test_advice_for_denos_own_command_line_is_left_out(frame):
    message = diagnose(frame, "", []).message
    assert "--" not in message
    assert "run again" not in message


@pytest.mark.parametrize("frame", [READ, WRITE, LINK, NET, LOOKUP, ENVIRONMENT, FILE])
def test_what_is_refused_to_a_run_without_grants_has_to_come_from_a_tool_or_the_context(frame):
    error = diagnose(frame, "", [])
    assert error.type == ErrorType.PERMISSION
    assert error.message.endswith(f". {NO_PERMISSIONS}")


@pytest.mark.parametrize(
    ("frame", "tier", "workspace", "hint"),
    [
        (READ, Tier.ISOLATED, True, FILES),
        (WRITE, Tier.NETWORK, True, FILES),
        (LINK, Tier.ISOLATED, True, FILES),
        (READ, Tier.NETWORK, False, NO_PERMISSIONS),
        (NET, Tier.NETWORK, False, NETWORK),
        (LOOKUP, Tier.NETWORK, True, NETWORK),
        (NET, Tier.ISOLATED, True, NO_PERMISSIONS),
        (ENVIRONMENT, Tier.NETWORK, True, NO_PERMISSIONS),
        *((frame, Tier.NETWORK, True, NO_IMPORTS) for frame in (IMPORT, NPM, BARE, JSR)),
    ],
)
def test_the_hint_names_what_the_run_was_granted(frame, tier, workspace, hint):
    error = diagnose(frame, "", [], tier=tier, workspace=workspace)
    assert error.type == ErrorType.PERMISSION
    assert error.message.endswith(f". {hint}")


def test_a_refusal_that_says_why_has_no_hint():
    frame = failure("PermissionDenied", '"/etc/passwd" is outside of the workspace "/workspace"')
    message = diagnose(frame, "", [], tier=Tier.NETWORK, workspace=True).message
    assert message == f"PermissionDenied: {frame.message}"


@pytest.mark.parametrize("name", FILE_FUNCTIONS)
def test_the_file_functions_that_the_hint_names_are_lent(name):
    source = (Path(__file__).parents[3] / "deno/files.ts").read_text(encoding="utf-8")
    assert re.search(rf'^ +{name}: |\["{name}", ', source, re.MULTILINE)
