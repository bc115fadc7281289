"""From what the process said of its failure to an error for the agent's eyes: positions in its own lines, no path
of this machine, and a hint where one helps."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from .contracts import ErrorType, ExecutionError
from .frames import Failure

# How `deno/evaluate.ts` wraps the code: a script is two lines down, and the first line is so many columns in.
SCRIPT_LINES = 2
FIRST_LINE_COLUMNS = 44

MAX_NAME = 100
MAX_MESSAGE = 4096
MAX_STACK = 16 * 1024

GLOBALS = (
    "context, tools, console, fetch (in the network tier), Deno, URL, URLSearchParams, TextEncoder, TextDecoder, "
    "Blob, Headers, Request, Response, AbortController, crypto, performance, structuredClone, atob, btoa, setTimeout, "
    "setInterval, Intl, Temporal, WebAssembly and standard JavaScript"
)

_DATA_URL = r"data:application/typescript;base64,[A-Za-z0-9+/=.]*"
_POSITION = re.compile(rf"(code\.js, <anonymous>|{_DATA_URL}):(\d{{1,7}}):(\d{{1,7}})")
_FRAME = re.compile(rf"^[ \t]+at (?:(.*?) \()?(code\.js, <anonymous>|{_DATA_URL}):(\d{{1,7}}):(\d{{1,7}})\)?$")
_PLACE_LINE = re.compile(rf"\n[ \t]+at (?:code\.js, <anonymous>|{_DATA_URL}):\d{{1,7}}:\d{{1,7}}$")
_WRAPPER_NAMES = re.compile(r"(?:async )?(?:eval|default|Module\.default|anonymous)$")
_FLAG_HINT = re.compile(r",? run again with the --allow-\S+ flag")
_DENIED = re.compile(r"Requires \w+ access")
_ALLOCATION = re.compile(r"allocation failed|could not allocate memory|out of memory", re.IGNORECASE)
_OUT_OF_MEMORY = re.compile(rb"out of memory|memory allocation of|heap limit", re.IGNORECASE)
_ABORTS = frozenset({-signal.SIGTRAP, -signal.SIGABRT, -signal.SIGILL, -signal.SIGSEGV, -signal.SIGBUS})
_MISSING_TOOL = re.compile(r"^tools\.[\w.$]+ is not a function|^Cannot read properties of undefined \(reading")


def diagnose(failure: Failure, code: str, places: Sequence[str]) -> ExecutionError:
    """Sort and clean what the process reported. Cut first: the guest cuts too, but whoever forges a frame does not."""
    failure = Failure(failure.phase, failure.name[:MAX_NAME], failure.message[:MAX_MESSAGE], failure.stack[:MAX_STACK])
    if failure.phase == "compile":
        return _syntax(failure, code)
    message = clean(failure.message)
    text = message if failure.name in {"Error", "ToolError", "LimitError"} else f"{failure.name}: {message}"
    stack = trim(failure.stack, text)
    return ExecutionError(_type(failure), _with_hint(failure, text, code, places), stack)


def died(status: int | None, stderr: bytes, *, had_much_memory: bool = False) -> ExecutionError:
    """What to say of a process that ended without an answer.

    A process that may have no more memory mostly says so before it aborts, but not always: the message needs memory
    too.
    """
    if out_of_memory(stderr) or (had_much_memory and status in _ABORTS):
        return ExecutionError(ErrorType.MEMORY, "The code used more memory than it may have")
    if status is None:
        how = "closed its output"
    elif status < 0:
        how = f"was ended by signal {-status}"
    else:
        how = f"ended by itself with exit code {status}"
    return ExecutionError(ErrorType.CRASH, f"The process {how} before the code returned")


def out_of_memory(stderr: bytes) -> bool:
    return _OUT_OF_MEMORY.search(stderr) is not None


def clean(text: str) -> str:
    """Without the addresses of our wrapper, without advice that only makes sense on Deno's own command line."""
    return _FLAG_HINT.sub("", _POSITION.sub(_position, _PLACE_LINE.sub("", text)))


def trim(stack: str, headline: str) -> str | None:
    """Only the frames in the agent's own code, in its own positions."""
    frames = []
    for line in stack.splitlines():
        found = _FRAME.match(line)
        if found is None:
            continue
        name = found[1] or ""
        place = _place(found[2], int(found[3]), int(found[4]))
        frames.append(f"    at {place}" if not name or _WRAPPER_NAMES.match(name) else f"    at {name} ({place})")
    return "\n".join((headline.split("\n", 1)[0], *frames)) if frames else None


def _type(failure: Failure) -> ErrorType:
    match failure.name:
        case "NotCapable" | "PermissionDenied":
            return ErrorType.PERMISSION
        case "TypeError" if _DENIED.match(failure.message):
            return ErrorType.PERMISSION  # so a denied import calls itself
        case "ToolError":
            return ErrorType.TOOL
        case "LimitError":
            return ErrorType.LIMIT
        case "RangeError" if _ALLOCATION.search(failure.message):
            return ErrorType.MEMORY
        case _:
            return ErrorType.RUNTIME


def _with_hint(failure: Failure, text: str, code: str, places: Sequence[str]) -> str:
    message = failure.message
    if failure.name == "ReferenceError" and message.endswith("is not defined"):
        return f"{text}. Globals that exist: {GLOBALS}. There is no require and no import"
    if failure.name == "TypeError" and _MISSING_TOOL.search(message) and "tools." in code:
        return f"{text}. Tools lent to this run: {', '.join(places[:50]) or 'none'}"
    if _type(failure) is ErrorType.PERMISSION and failure.name != "PermissionDenied":  # that one explains itself
        return f"{text}. The sandbox holds no permissions: ask for a tool, or take what you need from context"
    return text


def _syntax(failure: Failure, code: str) -> ExecutionError:
    message = failure.message.removeprefix("SyntaxError: ")
    headline = message.split("\n", 1)[0]
    if "'import', and 'export' cannot be used" in headline:
        headline = "import and export are not available: everything that exists is a global"
    found = _POSITION.search(message)
    if found is None:
        return ExecutionError(ErrorType.SYNTAX, clean(headline))
    line, column = _moved(found[1], int(found[2]), int(found[3]))
    lines = code.splitlines()
    if line > len(lines):  # what is missing at the end is missed on the line after it
        line, column = len(lines), len(lines[-1]) + 1
    source = lines[line - 1]
    text = f"{clean(headline)} (line {line}, column {column})"
    if source.strip() and len(source) <= 200 and column <= len(source) + 1:
        text = f"{text}\n  {source}\n  {' ' * (column - 1)}^"
    return ExecutionError(ErrorType.SYNTAX, text)


def _position(found: re.Match[str]) -> str:
    return _place(found[1], int(found[2]), int(found[3]))


def _place(origin: str, line: int, column: int) -> str:
    moved = _moved(origin, line, column)
    return f"code:{moved[0]}:{moved[1]}"


def _moved(origin: str, line: int, column: int) -> tuple[int, int]:
    if origin.startswith("code.js"):
        line -= SCRIPT_LINES
    if line == 1:
        column -= FIRST_LINE_COLUMNS
    return max(line, 1), max(column, 1)
