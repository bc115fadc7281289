"""Resolves the paths that the code uses to names beneath the workspace. Pure: nothing here looks at a disk.

`beneath.py` deals with symlinks. Here `..` is resolved by the text alone, which is only correct because no symlink is
ever followed.
"""

from __future__ import annotations

import re
import unicodedata

from ..contracts import ToolError

Parts = tuple[str, ...]
"""Names beneath the workspace, outermost first. No name is empty, `.` or `..`; the workspace itself is `()`."""

MOUNT = "/workspace"
"""The path at which the code sees the workspace."""
RESERVED = ".motor-cortex-"
"""The prefix of the names that a commit uses beside the files of the workspace."""
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4096
MAX_DEPTH = 64

# Control characters of both ranges, line separators, marks that change the direction of text, and surrogates: no name
# should be able to look like another to a person, or break a line of a log.
_UNUSABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def resolve(path: object, folder: str) -> Parts:
    """Resolve a path to names. Raises ToolError for a path that does not lie beneath the workspace.

    `folder` is the real path of the workspace, which the code may use too if it knows it.
    """
    if not isinstance(path, str):
        raise ToolError("A path must be a text", code="InvalidData")
    if not path:
        raise ToolError("A path must not be empty", code="InvalidData")
    if len(path) > MAX_PATH_BYTES or len(path.encode(errors="replace")) > MAX_PATH_BYTES:
        raise ToolError(f"The path {quoted(path)} is longer than {MAX_PATH_BYTES} bytes", code="InvalidData")
    if _UNUSABLE.search(path):
        raise ToolError(f"The path {quoted(path)} has control characters", code="InvalidData")
    parts: list[str] = []
    for name in _beneath(path, folder):
        if name != "..":
            _check(name, path)
            parts.append(name)
        elif parts:
            parts.pop()
        else:
            raise _outside(path)
    if len(parts) > MAX_DEPTH:
        raise ToolError(f"The path {quoted(path)} is deeper than {MAX_DEPTH} folders", code="InvalidData")
    return tuple(parts)


def usable(name: str) -> bool:
    """Whether the code could use this name, found on the disk. Other names are hidden from the code."""
    return not (_UNUSABLE.search(name) or reserved(name)) and len(name.encode(errors="replace")) <= MAX_NAME_BYTES


def reserved(name: str) -> bool:
    # Some file systems treat names that differ only in case, or in zero-width characters, as the same.
    visible = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    return visible.casefold().startswith(RESERVED)


def shown(parts: Parts) -> str:
    """The path as the code sees it."""
    return "/".join((MOUNT, *parts))


def quoted(path: str) -> str:
    """Quote a path for a message: shortened, and without control characters."""
    text = _UNUSABLE.sub("\ufffd", path[:200])
    return f'"{text}…"' if len(path) > 200 else f'"{text}"'


def _beneath(path: str, folder: str) -> list[str]:
    """The names after the mount point or the folder; all of them when the path is relative."""
    names = _names(path)
    if not path.startswith("/"):
        return names
    # Try the longer first: the folder may really lie below "/workspace", and then its real path begins with both.
    for top in sorted((_names(MOUNT), _names(folder)), key=len, reverse=True):
        if names[: len(top)] == top:
            return names[len(top) :]
    raise _outside(path)


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _check(name: str, path: str) -> None:
    if len(name.encode()) > MAX_NAME_BYTES:
        raise ToolError(f"A name in {quoted(path)} is longer than {MAX_NAME_BYTES} bytes", code="InvalidData")
    if reserved(name):
        raise ToolError(f'Names that begin with "{RESERVED}" are reserved: {quoted(path)}', code="PermissionDenied")


def _outside(path: str) -> ToolError:
    return ToolError(f'{quoted(path)} is outside of the workspace "{MOUNT}"', code="PermissionDenied")
