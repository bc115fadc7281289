"""Turns a failure that the process reported into an error for the agent: with positions in its own code, without paths
of this machine, and with a hint where one helps."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..contracts import ErrorType, ExecutionError, Failure, Tier
from ..guard import slip

# How `deno/evaluate.ts` wraps the code: a script begins two lines down, and its first line this many columns in.
SCRIPT_LINES = 2
FIRST_LINE_COLUMNS = 60

MAX_NAME = 100
MAX_MESSAGE = 4096
MAX_STACK = 16 * 1024

GLOBALS = (
    "tools, console, store and display (not in neurons), fetch (in the network tier), ToolError, MCPToolError, Deno, "
    "URL, URLSearchParams, TextEncoder, TextDecoder, Blob, Headers, Request, Response, AbortController, crypto, "
    "performance, structuredClone, atob, btoa, setTimeout, setInterval, Intl, Temporal, WebAssembly and standard "
    "JavaScript"
)

FILE_FUNCTIONS = (
    *("readTextFile", "readFile", "writeTextFile", "writeFile", "readDir", "stat", "lstat", "mkdir"),
    *("remove", "rename", "copyFile", "realPath"),
)
# Hints on what to do instead of what was refused. Deno's own advice is for its command line.
NO_PERMISSIONS = "The sandbox holds no permissions: ask for a tool, or take what you need from context"
FILES = f"Only these file functions work, in /workspace: Deno.{', '.join(FILE_FUNCTIONS)}, with await or as ...Sync"
NETWORK = "fetch is the only way to the network"
NO_WORKERS = (
    "Workers are not available here: each takes about 520 MB to begin with, more than sandbox.max_memory_mb leaves. Do "
    "the work in one thread"
)
PANIC = (
    "Deno could not compile this code and ended: write it more simply, and put a function that is declared behind if "
    "or else into a block"
)
NO_IMPORTS = "No package and no file can be imported: everything that exists is a global"

_DATA_URL = r"data:application/typescript;base64,[A-Za-z0-9+/=.]*"
_POSITION = re.compile(rf"(code\.js, <anonymous>|{_DATA_URL}):(\d{{1,7}}):(\d{{1,7}})")
# What JavaScript takes for the end of a line.
_LINE_END = re.compile("\r\n|[\n\r\u2028\u2029]")
_FRAME = re.compile(rf"^[ \t]+at (?:(.*?) \()?(code\.js, <anonymous>|{_DATA_URL}):(\d{{1,7}}):(\d{{1,7}})\)?$")
_PLACE_LINE = re.compile(rf"\n[ \t]+at (?:code\.js, <anonymous>|{_DATA_URL}):\d{{1,7}}:\d{{1,7}}$")
_WRAPPER_NAMES = re.compile(r"(?:async )?(?:eval|default|Module\.default|anonymous)$")
_FLAG_HINT = re.compile(r",? run again with the --allow-\S+ flag|; but --no-npm is specified")
_UNSCOPED = re.compile(r"(?<=\(\)) requires unscoped --allow-[^\n]*")
_DENIED_FILE = re.compile(r"Requires (?:read|write) access|Deno\.\w+\(\) requires unscoped --allow-")
_DENIED_NETWORK = re.compile(r"Requires net access|getaddrinfo EPERM")
_DENIED_IMPORT = re.compile(
    r'Requires import access|JSR package manifest for |npm specifiers were requested|Import "[^"]*" not a dependency'
)
_DENIED = re.compile("|".join(each.pattern for each in (_DENIED_FILE, _DENIED_NETWORK, _DENIED_IMPORT)))
_ALLOCATION = re.compile(r"allocation failed|could not allocate memory|out of memory", re.IGNORECASE)
_OUT_OF_MEMORY = re.compile(rb"out of memory|memory allocation of|heap limit", re.IGNORECASE)
# V8's message when a Worker, or a thread of Node's, has not enough memory to start.
_NEW_ISOLATE = b"virtual memory for CodeRange"
_PANIC = b"Deno has panicked"
_ABORTS = frozenset({-signal.SIGTRAP, -signal.SIGABRT, -signal.SIGILL, -signal.SIGSEGV, -signal.SIGBUS})
# Error names that add nothing to the message or to the error's type.
_PLAINLY_SAID = frozenset({"Error", "ToolError", "LimitError"})
_MISSING_TOOL = re.compile(r"^tools\.[\w.$]+ is not a function|^Cannot read properties of undefined \(reading")


WrittenAt = Callable[[int, int], tuple[int, int]]
"""Leads from a line and column of the code as it is run to those of the code as it was written."""


def as_it_is(line: int, column: int) -> tuple[int, int]:
    return line, column


def diagnose(
    failure: Failure,
    code: str,
    places: Sequence[str],
    *,
    tier: Tier = Tier.ISOLATED,
    workspace: bool = False,
    given: str = "context",
    written_at: WrittenAt = as_it_is,
) -> ExecutionError:
    """Classify and clean the failure that the process reported. Its texts are cut first: the harness cuts them too,
    but a forged frame is not cut. `given` names the globals that this code has beside the usual ones."""
    failure = Failure(failure.phase, failure.name[:MAX_NAME], failure.message[:MAX_MESSAGE], failure.stack[:MAX_STACK])
    if failure.phase == "compile":
        return with_slip(_syntax(failure, code, written_at), code)
    message = clean(failure.message, written_at)
    text = message if failure.name in _PLAINLY_SAID else f"{failure.name}: {message}"
    stack = trim(failure.stack, text, written_at)
    hint = _hint(failure, code, places, tier, workspace, given)
    error = with_slip(ExecutionError(_type(failure), f"{text}. {hint}" if hint else text, stack), code, text)
    return replace(error, where=_where(failure.stack, code, written_at))


def with_slip(error: ExecutionError, code: str, said: str = "") -> ExecutionError:
    """The error, with a sentence behind its message when it comes of a common slip. `said` is its message without a
    hint; a syntax error names itself by its type."""
    sentence = slip(code, said or f"{error.type}: {error.message.split(chr(10), 1)[0]}")
    return error if sentence is None else replace(error, message=f"{error.message}{_joint(error.message)}{sentence}")


def _joint(message: str) -> str:
    # Below the line of code that a syntax error shows, and behind anything else.
    return "\n" if "\n" in message else ". "


def died(status: int | None, stderr: bytes, *, had_much_memory: bool = False) -> ExecutionError:
    """The error for a process that ended without an answer.

    A process that runs out of memory mostly says so before it aborts, but not always: the message needs memory too.
    """
    if _NEW_ISOLATE in stderr:
        return ExecutionError(ErrorType.MEMORY, NO_WORKERS)
    if out_of_memory(stderr) or (had_much_memory and status in _ABORTS):
        return ExecutionError(ErrorType.MEMORY, "The code used more memory than it may have")
    if _PANIC in stderr:
        return ExecutionError(ErrorType.CRASH, PANIC)
    if status is None:
        how = "closed its output"
    elif status < 0:
        how = f"was ended by signal {-status}"
    else:
        how = f"ended by itself with exit code {status}"
    return ExecutionError(ErrorType.CRASH, f"The process {how} before the code returned")


def out_of_memory(stderr: bytes) -> bool:
    return _OUT_OF_MEMORY.search(stderr) is not None


def clean(text: str, written_at: WrittenAt = as_it_is) -> str:
    """The text with positions in the agent's own code, and without advice that is only for Deno's command line."""
    without_flags = _UNSCOPED.sub(" is refused", _FLAG_HINT.sub("", text))
    return _POSITION.sub(
        lambda found: _place(found[1], int(found[2]), int(found[3]), written_at), _PLACE_LINE.sub("", without_flags)
    )


def trim(stack: str, headline: str, written_at: WrittenAt = as_it_is) -> str | None:
    """The stack trace with only the frames in the agent's own code, at its own positions; None if there are none."""
    frames = []
    for line in stack.splitlines():
        found = _FRAME.match(line)
        if found is None:
            continue
        name = found[1] or ""
        place = _place(found[2], int(found[3]), int(found[4]), written_at)
        frames.append(f"    at {place}" if not name or _WRAPPER_NAMES.match(name) else f"    at {name} ({place})")
    return "\n".join((headline.split("\n", 1)[0], *frames)) if frames else None


def _type(failure: Failure) -> ErrorType:
    match failure.name:
        case "NotCapable" | "PermissionDenied":
            return ErrorType.PERMISSION
        case "TypeError" | "Error" if _DENIED.match(failure.message):
            return ErrorType.PERMISSION  # the names of a denied import, and of a denied host in Node's functions
        case "ToolError" | "MCPToolError":
            return ErrorType.TOOL
        case "LimitError":
            return ErrorType.LIMIT
        case "RangeError" if _ALLOCATION.search(failure.message):
            return ErrorType.MEMORY
        case _:
            return ErrorType.RUNTIME


def _hint(failure: Failure, code: str, places: Sequence[str], tier: Tier, workspace: bool, given: str) -> str | None:
    message = failure.message
    if failure.name == "ReferenceError" and message.endswith("is not defined"):
        return f"Globals that exist: {given}, {GLOBALS}. There is no require and no import"
    if failure.name == "TypeError" and _MISSING_TOOL.search(message) and "tools." in code:
        return f"Tools lent to this run: {', '.join(places[:50]) or 'none'}"
    if _type(failure) is ErrorType.PERMISSION and failure.name != "PermissionDenied":  # which explains itself
        return _way_out(message, tier, workspace)
    return None


def _way_out(message: str, tier: Tier, workspace: bool) -> str:
    if workspace and _DENIED_FILE.match(message):
        return FILES
    if tier is Tier.NETWORK and _DENIED_NETWORK.match(message):
        return NETWORK
    if _DENIED_IMPORT.match(message):
        return NO_IMPORTS
    return NO_PERMISSIONS


def _where(stack: str, code: str, written_at: WrittenAt) -> str | None:
    """The first place of the author's code in a stack, with that line; None if there is none. The line is whole: who
    shows it takes secrets out first, and half a secret would not be recognized."""
    lines = _LINE_END.split(code)
    for found in map(_FRAME.match, stack.splitlines()):
        if found is not None:
            line, column = _moved(found[2], int(found[3]), int(found[4]), written_at)
            if line <= len(lines):
                return f"at line {line}, column {column}: {lines[line - 1].strip()}"
    return None


def _syntax(failure: Failure, code: str, written_at: WrittenAt) -> ExecutionError:
    message = failure.message.removeprefix("SyntaxError: ")
    headline = message.split("\n", 1)[0]
    if "'import', and 'export' cannot be used" in headline:
        headline = "import and export are not available: everything that exists is a global"
    found = _POSITION.search(message)
    if found is None:
        return ExecutionError(ErrorType.SYNTAX, clean(headline, written_at))
    line, column = _moved(found[1], int(found[2]), int(found[3]), written_at)
    lines = code.splitlines()
    if line > len(lines):  # V8 reports something missing at the end on the line after it
        line, column = len(lines), len(lines[-1]) + 1
    source = lines[line - 1]
    text = f"{clean(headline, written_at)} (line {line}, column {column})"
    if source.strip() and len(source) <= 200 and column <= len(source) + 1:
        text = f"{text}\n  {source}\n  {' ' * (column - 1)}^"
    return ExecutionError(ErrorType.SYNTAX, text)


def _place(origin: str, line: int, column: int, written_at: WrittenAt) -> str:
    line, column = _moved(origin, line, column, written_at)
    return f"code:{line}:{column}"


def _moved(origin: str, line: int, column: int, written_at: WrittenAt) -> tuple[int, int]:
    if origin.startswith("code.js"):
        line -= SCRIPT_LINES
    if line == 1:
        column -= FIRST_LINE_COLUMNS
    return written_at(max(line, 1), max(column, 1))
