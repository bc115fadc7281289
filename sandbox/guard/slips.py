"""A sentence for each common slip of a model: Python instead of JavaScript, `require`, npm imports, `process`, `fs`,
CommonJS. Pure, and linear in the length of the code.

The sentence is added to an error, which keeps its own words: a guess that is wrong costs a sentence and hides nothing.
Python is looked for only in code that does not parse, and outside of JavaScript's strings and comments, so valid
JavaScript is never taken for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from .patterns import Finding

MAX_READ_CHARACTERS = 16_384
MAX_LINE_CHARACTERS = 500

PYTHON = "The code looks like Python, but this runs JavaScript or TypeScript: write it in one of these"
REQUIRE = "There is no require: no module can be loaded, and everything that exists is a global or a tool in `tools`"
FILES = (
    "There is no fs: data comes in `context` or from a tool; files only where a workspace was granted, with await "
    'Deno.readTextFile("/workspace/…")'
)
PROCESS = (
    "process is of Node: there are no environment, arguments, streams or exit here. Data comes in `context`, "
    "console.log prints, and return gives the result"
)
COMMON_JS = "There are no modules to export from: instead of module.exports, return the value"
EXPORT = "There are no modules to export from: return the value instead"
PACKAGE = "No package can be loaded: write what you need of it yourself, or look for a tool in `tools`"
NODE = "No module of Node can be loaded: use the globals of the web, such as URL, crypto, TextEncoder and fetch"
OWN_FILE = "No file can be loaded: put all of the code into this one program"
NO_FOLDER = "The code is in no file, so it has no folder"

# What Python calls it, and what JavaScript does.
_OF_PYTHON = {
    "print": "console.log(…)",
    "len": ".length",
    "range": "a for loop, or Array.from({ length: n }, (_, i) => i)",
    "None": "null",
    "True": "true",
    "False": "false",
}
_MISSING = {
    "require": REQUIRE,
    "module": COMMON_JS,
    "exports": COMMON_JS,
    "fs": FILES,
    "process": PROCESS,
    "__dirname": NO_FOLDER,
    "__filename": NO_FOLDER,
    **{
        name: f"There is no {name}: this runs JavaScript or TypeScript, where it is {it}"
        for name, it in _OF_PYTHON.items()
    },
}
_NODE_MODULES = frozenset(
    (
        *("assert", "buffer", "child_process", "crypto", "events", "http", "https", "net", "os", "path", "process"),
        *("readline", "stream", "url", "util", "worker_threads", "zlib"),
    )
)
_FILE_MODULES = frozenset({"fs", "fs/promises", "fs-extra"})

_NOT_DEFINED = re.compile(r"(\w{1,40}) is not defined$")
_IMPORTED = re.compile(r"""(?:\bfrom|\bimport|\b(?:require|import)[ \t]{0,9}\()[ \t\n]{0,9}["']([^"'\n]{1,200})["']""")
_EXPORT = re.compile(r"^[ \t]{0,99}export\b", re.MULTILINE)
_PROCESS = re.compile(r"\bprocess[ \t]{0,9}\??\.")


def slip(code: str, error: str) -> str | None:
    """The sentence for an error, given as `Name: message`; None when the error is no slip that is known."""
    code = code[:MAX_READ_CHARACTERS]
    kind, _, message = error.partition(": ")
    if kind == "SyntaxError":
        return _in_syntax(code, message)
    if kind == "ReferenceError" and (missing := _NOT_DEFINED.match(message)):
        return _MISSING.get(missing[1]) or (PYTHON if _assigns_as_python(code, missing[1]) else None)
    is_process = "env access" in message or "a line that is not JSON" in message
    return PROCESS if is_process and _PROCESS.search(code) else None


def explained(found: tuple[Finding, ...], code: str, *, is_broken: bool) -> tuple[Finding, ...]:
    """The guard's findings with a hint for each known slip. Python takes the place of what was found in it by mistake:
    the guard reads `import os` as a dynamic import. `is_broken` says that the code does not parse."""
    code = code[:MAX_READ_CHARACTERS]
    line = python_line(code) if found and is_broken else None
    if line is not None:
        return (Finding("Python", "is not run here: this runs JavaScript or TypeScript", line, 1, hint=PYTHON),)
    return tuple(replace(finding, hint=_of_pattern(finding.pattern, code)) for finding in found)


def _of_pattern(pattern: str, code: str) -> str:
    match pattern:
        case "require":
            return _of_module(code) or REQUIRE
        case "dynamic import":
            return _of_module(code) or ""
        case "process.exit" | "process.kill":
            return PROCESS
        case _:
            return ""


def _in_syntax(code: str, message: str) -> str | None:
    if "import and export are not available" in message or "'import', and 'export'" in message:
        # `import os` is Python; `import x from "y"` is not.
        return _of_module(code) or (
            PYTHON if python_line(code) is not None else EXPORT if _EXPORT.search(code) else None
        )
    return None if python_line(code) is None else PYTHON


def _of_module(code: str) -> str | None:
    """What to do instead of loading the first module that the code names. Does not quote the code: the audit has what a
    refusal says, and no code."""
    found = _IMPORTED.search(code)
    if found is None:
        return None
    name = found[1].removeprefix("node:")
    if name in _FILE_MODULES:
        return FILES
    if name in _NODE_MODULES or name != found[1]:
        return NODE
    return OWN_FILE if name.startswith((".", "/")) else PACKAGE


# Recognising Python

# Each is wrong as JavaScript and TypeScript, wherever it stands outside of strings, comments and regular expressions.
_PYTHON_LINE = re.compile(
    r"(?:async\s+)?def\s+\w+\s*\("
    r"|class\s+\w+\s*(?:\([^()]*\)\s*)?:$"
    r"|from\s+[\w.]+\s+import\s+[\w*(]"
    r"|import\s+[\w.]+(?:\s+as\s+\w+)?(?:\s*,\s*[\w.]+(?:\s+as\s+\w+)?)*$"
    r"|print\s+\"\"",
    re.ASCII,
)
_PYTHON_PART = re.compile(
    r"(?<![\w$.])(?:for\s+\w+(?:\s*,\s*\w+)*\s+in\s|lambda\s+\w+(?:\s*,\s*\w+)*\s*:|[fFrRbB]\"\"|is\s+not\s+None\b)",
    re.ASCII,
)
# These begin a block in Python when the next line is set in. JavaScript has a parenthesis behind `if`.
_PYTHON_BLOCK = re.compile(r"(?:if|elif|while|with|except)\s+[^\s(:].*:$")
_PYTHON_COMMENT = re.compile(r"(?:^|\s)#(?!\w).*")
_OPENING = re.compile(r"""["'`]|//|/\*""")
# What follows an opening, up to its end. A quote that is not closed ends with its line.
_REST = {
    '"': re.compile(r'(?:[^"\\\n]|\\.)*+"?', re.DOTALL),
    "'": re.compile(r"(?:[^'\\\n]|\\.)*+'?", re.DOTALL),
    "`": re.compile(r"(?:[^`\\]|\\.)*+`", re.DOTALL),
    "/*": re.compile(r"[^*]*+(?:\*(?!/)[^*]*+)*+\*/"),
    "//": re.compile(r"[^\n]*"),
}
# What is left of it. A template is not a string: `f` before it is a tag.
_LEFT = {'"': '""', "'": '""', "`": "``", "/*": "", "//": ""}


def python_line(code: str) -> int | None:
    """The first line that is Python and cannot be JavaScript or TypeScript; None if there is none."""
    lines = "".join(_without_texts(code[:MAX_READ_CHARACTERS])).split("\n")
    for number, line in enumerate(lines):
        text = _PYTHON_COMMENT.sub("", line[:MAX_LINE_CHARACTERS]).strip()
        if not text:
            continue
        if _PYTHON_PART.search(text) or (_PYTHON_BLOCK.match(text) and _is_set_in(lines, number)):
            return number + 1
        if _PYTHON_LINE.match(text) and not _next(lines, number).lstrip().startswith('from ""'):
            return number + 1
    return None


_PYTHON_WORD = re.compile(r"(?<![\w$.])(?:(?:print|len|range|str|int)\(|(?:None|True|False)\b)", re.ASCII)
_JAVASCRIPT_WORD = re.compile(
    r"(?<![\w$.])(?:const|let|var|function|await|new)\s|=>|;\s*$|console\.", re.MULTILINE | re.ASCII
)


def _assigns_as_python(code: str, name: str) -> bool:
    """Whether code that parses as both, and assigns to a name without declaring it, is Python by its other words."""
    text = "".join(_without_texts(code))
    is_assigned = re.search(rf"^{re.escape(name)}[ \t]*=(?!=)", text, re.MULTILINE) is not None
    return is_assigned and bool(_PYTHON_WORD.search(text)) and not _JAVASCRIPT_WORD.search(text)


def _without_texts(code: str) -> Iterator[str]:
    """The code with empty strings and templates, and without comments. It has as many lines as before."""
    at = 0
    unclosed: set[str] = set()
    while (found := _OPENING.search(code, at)) is not None:
        kind = found[0]
        yield code[at : found.start()]
        rest = None if kind in unclosed else _REST[kind].match(code, found.end())
        if rest is None:
            # What is not closed here is not closed further down, either: to look for it again would take quadratic
            # time.
            unclosed.add(kind)
            yield kind
            at = found.end()
            continue
        at = rest.end()
        if kind in {'"', "'"} and not rest[0].endswith(kind):
            yield kind + rest[0]
        else:
            yield _LEFT[kind] + "\n" * rest[0].count("\n")
    yield code[at:]


def _is_set_in(lines: list[str], number: int) -> bool:
    below = _next(lines, number)
    return bool(below) and _indent(below) > _indent(lines[number])


def _next(lines: list[str], number: int) -> str:
    """The next line with text, among the next few."""
    return next((line for line in lines[number + 1 : number + 10] if line.strip()), "")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
