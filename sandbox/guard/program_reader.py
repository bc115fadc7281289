"""Makes a program return its value where its author wrote no `return`, and maps positions back to the author's code.

The reading process says where; the edits themselves are made here, from a fixed list, because that process has parsed
code that may be hostile.
"""

from __future__ import annotations

import json
import logging
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..contracts import SandboxUnavailable
from .guard import CodeReader

log = logging.getLogger("motor_cortex.sandbox")

MAX_EDITS_BYTES = 65_536
# Shorter than the guard's: a run that waited in vain loses its answer at most, and says how to give one.
TURN_TIMEOUT_S = 1.0
# With a parenthesis: the value may begin on the next line. V8 places errors of the whole value at the `return`, which
# leads back to the beginning of the value, where they would be without it.
_RETURN = "return("
_IS_MAIN = "import.meta.main"
_NAME = re.compile(r"[A-Za-z_$][\w$]{0,200}\Z", re.ASCII)
# Possessive: code of many spaces must not be tried at each of them.
_FENCE = re.compile(r"\s*+(`{3,}+|~{3,}+)[ \t]*+[\w+.-]*+[ \t]*+\n(?P<code>.*?)\n[ \t]*+\1\s*+\Z", re.DOTALL)
# A line that is neither indented nor a closing bracket or a comment.
_STATEMENT = re.compile(r"(?![\s)}\]]|//|/\*|\Z)")
_A_RETURN = re.compile(r"return(?![\w$])")


@dataclass(frozen=True, slots=True)
class _Edit:
    """Replaces the bytes from `start` to `end` by a text, or by spaces."""

    start: int
    end: int
    text: str | None = None
    """None for spaces, and line ends where they were."""
    old: str | None = None
    """What must stand there; None for anything."""


@dataclass(frozen=True, slots=True)
class Program:
    """Code as it is run, and how its positions lead back to the code as it was written."""

    code: str
    moved: tuple[tuple[int, int, int], ...] = ()
    """Line, column in the code as it is run, and columns inserted there; in order."""
    _before: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """Of each, the columns that were inserted further left in its line: a stack has hundreds of positions."""

    def __post_init__(self) -> None:
        before: list[int] = []
        for (last, _, inserted), (line, _, _) in pairwise(self.moved):
            before.append((before[-1] if before else 0) + inserted if line == last else 0)
        object.__setattr__(self, "_before", (0, *before))

    def written_at(self, line: int, column: int) -> tuple[int, int]:
        """The position in the author's code. Both count from 1, columns in UTF-16 units, as V8 does."""
        last = bisect_right(self.moved, (line, column, 2**31)) - 1
        if last < 0 or self.moved[last][0] != line:
            return line, column
        _, at_column, inserted = self.moved[last]
        return line, max(at_column, column - inserted) - self._before[last]


class ProgramReader(CodeReader):
    """Reads programs in a process of its own, which starts with the first program that needs it."""

    def __init__(self) -> None:
        module = Path(__file__).with_name("program_end.py")
        super().__init__(
            module,
            "program_end",
            name="reader of programs",
            max_answer_bytes=MAX_EDITS_BYTES,
            turn_timeout_s=TURN_TIMEOUT_S,
        )

    async def program(self, code: str) -> Program:
        """The program to run for this code. Code that cannot be read is run as it is: Deno explains its mistakes."""
        text = without_fences(code)
        if ends_with_return(text):
            return Program(text)
        try:
            answer = await self.answer(text)
        except SandboxUnavailable as error:
            log.info("The value of a program without a return is lost: %s", error)
            return Program(text)
        return edited(text, answer) if answer is not None else Program(text)


def without_fences(code: str) -> str:
    """The code without Markdown fences around the whole of it, and with a comment for a first line that names a
    program. Its lines and columns keep their numbers."""
    if code.startswith("#!"):
        return f"//{code[2:]}"
    if not code.lstrip().startswith(("```", "~~~")):
        return code
    found = _FENCE.match(code)
    return code if found is None else "\n" * code.count("\n", 0, found.start("code")) + found["code"]


def ends_with_return(code: str) -> bool:
    """Whether the program surely returns its value by itself. Takes linear time, and no process."""
    at = len(code) + 1
    while at > 0:
        at = code.rfind("\n", 0, at - 1) + 1
        if _STATEMENT.match(code, at):
            return _A_RETURN.match(code, at) is not None and "export" not in code
    return False


def edited(code: str, answer: bytes | bytearray | memoryview) -> Program:
    """The program after the edits that the reading process asks for; unchanged if they make no sense. Takes linear
    time, whatever it asks for."""
    data = code.encode(errors="replace")
    try:
        return _applied(sorted(_edits(json.loads(bytes(answer)), len(data)), key=_place), data)
    except (ValueError, TypeError, KeyError, RecursionError):
        log.info("The reader of programs gave edits that make no sense")
        return Program(code)


def _place(edit: _Edit) -> tuple[int, int]:
    return edit.start, edit.end


def _applied(edits: list[_Edit], data: bytes) -> Program:
    """Raises ValueError for edits that overlap, or begin or end inside of a character."""
    # Looked at before any text is made: thousands of edits could each span all of the code.
    if any(edit.start < before.end for before, edit in pairwise(edits)):
        raise ValueError("edits that overlap")
    pieces: list[str] = []
    moved: list[tuple[int, int, int]] = []
    done, line, column = 0, 1, 1
    for edit in edits:
        before, old = data[done : edit.start].decode(), data[edit.start : edit.end].decode()
        if edit.old is not None and old != edit.old:
            raise ValueError("an edit of something else")
        text = _spaces(old) if edit.text is None else edit.text.ljust(len(old))
        line, column = _advanced(line, column, before)
        pieces += (before, text)
        if edit.start == edit.end and edit.start < len(data):
            moved.append((line, column, len(text)))
        line, column = _advanced(line, column, text)
        done = edit.end
    return Program("".join((*pieces, data[done:].decode())), tuple(moved))


def _edits(asked: list[list[Any]], size: int) -> list[_Edit]:
    """Raises ValueError, TypeError or KeyError for edits that the reading process should not ask for."""
    found: list[_Edit] = []
    for what, *rest in asked:
        match what, rest:
            case "return", [int(at)] if 0 <= at < size:
                found.append(_Edit(at, at, _RETURN))
            case "end", [int(at)] if 0 < at <= size:
                found.append(_Edit(at, at, ")"))
            case "blank", [int(start), int(end)] if 0 <= start < end <= size:
                found.append(_Edit(start, end))
            case "main", [int(start), int(end)] if 0 <= start < end <= size:
                found.append(_Edit(start, end, "true", _IS_MAIN))
            case "default", [int(start), int(end)] if 0 <= start < end <= size:
                found.append(_Edit(start, end, _RETURN))
            case "call", [str(name), bool(gives_context)] if _NAME.match(name):
                given = "context" if gives_context else ""
                found.append(_Edit(size, size, f"\n;return {name}({given})"))
            case "name", [str(name)] if _NAME.match(name):
                found.append(_Edit(size, size, f"\n;return {name}"))
            case _:
                raise ValueError(f"an unknown edit: {what!r:.40}")
    return found


def _spaces(text: str) -> str:
    return re.sub(r"[^\r\n]+", lambda found: " " * len(found[0]), text)


def _advanced(line: int, column: int, text: str) -> tuple[int, int]:
    """The position after a text, in lines and UTF-16 units."""
    lines = text.count("\n")
    last = text[text.rfind("\n") + 1 :]
    width = len(last.encode("utf-16-le")) // 2
    return (line + lines, width + 1) if lines else (line, column + width)
