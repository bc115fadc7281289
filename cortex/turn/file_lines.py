"""The changes of files as lines: a few for the model, and all that an owner needs who is asked about them. Pure.

Names and contents come from strangers. No character in them can control a terminal, pass for another, or end a line.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cortex.text import line_diff, visible, visible_code

if TYPE_CHECKING:
    from sandbox import Change, ChangedFile

MAX_LINES = 10
"""Lines of a reply about files, with the heading."""
MAX_LISTED = 200
"""Changes that the owner is shown by name; the others are counted."""
MAX_DIFF_LINES = 300
MAX_LINE_CHARACTERS = 200
MAX_NAME_CHARACTERS = 200
MAX_READ_BYTES, MAX_READ_TOTAL_BYTES = 65_536, 1_048_576
"""A file, and all files, of which the owner is shown a difference."""

_KINDS = ("removed", "changed", "added")
_PLAIN = re.compile(r"[\w./@+-]+")


def heading(changes: Sequence[Change], what: str) -> str:
    """Like "Files written: 2 added, 1 removed"."""
    return f"{what}: {_counted(changes)}"


def reply_lines(changes: Sequence[Change], head: str) -> list[str]:
    """What the model reads about the changes, at most MAX_LINES lines."""
    room = MAX_LINES - 1
    first = changes if len(changes) <= room else changes[: room - 1]
    lines = [head, *(_line(change, visible) for change in first)]
    rest = changes[len(first) :]
    return [*lines, f"… and {len(rest)} more: {_counted(rest)}"] if rest else lines


def listed(changes: Sequence[Change]) -> list[str]:
    """What the owner reads about the changes, those that lose most first; further ones are counted."""
    ordered = sorted(changes, key=lambda change: _KINDS.index(change.kind))
    lines = [_line(change, visible_code) for change in ordered[:MAX_LISTED]]
    rest = ordered[MAX_LISTED:]
    return [*lines, f"… and {len(rest)} more, which are not shown: {_counted(rest)}"] if rest else lines


def diff_lines(files: Sequence[ChangedFile]) -> list[str]:
    """The differences in the contents, for the owner, at most MAX_DIFF_LINES lines; what is left out is said."""
    lines: list[str] = []
    ordered = sorted(files, key=lambda file: _KINDS.index(file.change.kind))
    for number, file in enumerate(ordered):
        if file.change.is_folder:
            continue
        lines.append(f"{file.change.kind} {_name(file.change.path, visible_code)}")
        for line in _differences(file):
            if len(lines) >= MAX_DIFF_LINES:
                return [*lines, f"… the rest, and {len(ordered) - number - 1} more files and folders, are not shown"]
            lines.append(line)
    return lines


def _differences(file: ChangedFile) -> Iterator[str]:
    if file.change.kind == "removed":
        yield f"  all of its {file.change.old_size or 0} bytes"
        return
    before = b"" if file.change.kind == "added" else file.before
    if before is None or file.after is None:
        yield "  (not shown: too large, or changed meanwhile)"
        return
    old, new = _text(before), _text(file.after)
    if old is None or new is None:
        yield "  (not shown: it is not text)"
        return
    for line in line_diff(old, new):
        left_out = len(line) - MAX_LINE_CHARACTERS
        more = f"… ({left_out} more characters are not shown)" if left_out > 0 else ""
        yield _flat(visible_code(line[:MAX_LINE_CHARACTERS])) + more


def _text(data: bytes) -> list[str] | None:
    if b"\0" in data:
        return None
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    # Split at "\n" alone: another program may not take the other line ends for such, and they are spelled out.
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else [*lines[:-1], f"{lines[-1]} (without a line end)"]


def _line(change: Change, spell: Callable[[str], str]) -> str:
    return str(replace(change, path=_name(change.path, spell)))


def _name(path: str, spell: Callable[[str], str]) -> str:
    """The name, in quotes if it could be taken for more than a name, and cut in the middle if it is long."""
    if len(path) > MAX_NAME_CHARACTERS:
        half = MAX_NAME_CHARACTERS // 2
        path = f"{path[:half]}…{path[-half:]}"
    # Before it is spelled: a backslash of the name must not look like one of ours.
    shown = _flat(spell(path.replace("\\", "\\\\").replace('"', '\\"')))
    return shown if _PLAIN.fullmatch(shown) else f'"{shown}"'


def _flat(text: str) -> str:
    return text.replace("\n", "\\n").replace("\t", "\\t")


def _counted(changes: Sequence[Change]) -> str:
    kinds = Counter(change.kind for change in changes)
    return ", ".join(f"{kinds[kind]} {kind}" for kind in ("added", "changed", "removed") if kinds[kind])
