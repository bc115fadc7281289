"""From what the code wrote to names beneath the workspace. Pure: nothing here looks at a disk.

Links are the business of `beneath.py`. Here `..` is resolved by the text alone, which is only sound because no link
is ever followed.
"""

from __future__ import annotations

import re
import unicodedata

from ..contracts import ToolError

Parts = tuple[str, ...]
"""Names beneath the workspace, outermost first. None is empty, `.` or `..`, and the workspace itself is `()`."""

MOUNT = "/workspace"
"""Where the workspace is as far as the code knows."""
RESERVED = ".motor-cortex-"
"""The names that a commit uses beside the files of the workspace."""
MAX_NAME_BYTES = 255
MAX_PATH_BYTES = 4096
MAX_DEPTH = 64

# Control characters of both ranges, line separators, what turns the direction of text, and halves of surrogate pairs:
# no name that a person reads should be able to look like another, or break a line of a log.
_UNUSABLE = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def resolve(path: object, folder: str) -> Parts:
    """The names that a path means. Raises ToolError for everything that does not lie beneath the workspace.

    `folder` is the real path of the workspace, which the code may use if it was told.
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
    """Whether a name found on the disk is one that the code could write. Others are not shown to it."""
    return not (_UNUSABLE.search(name) or reserved(name)) and len(name.encode(errors="replace")) <= MAX_NAME_BYTES


def reserved(name: str) -> bool:
    # Some filesystems take names that differ in case, or in characters without width, for the same.
    visible = "".join(letter for letter in name if unicodedata.category(letter) != "Cf")
    return visible.casefold().startswith(RESERVED)


def shown(parts: Parts) -> str:
    """The path as the code knows it."""
    return "/".join((MOUNT, *parts))


def quoted(path: str) -> str:
    """A path for a message: short, and without characters that could do something there."""
    text = _UNUSABLE.sub("\ufffd", path[:200])
    return f'"{text}…"' if len(path) > 200 else f'"{text}"'


def _beneath(path: str, folder: str) -> list[str]:
    """The names after the mount point or the folder; all of them when the path is relative."""
    names = _names(path)
    if not path.startswith("/"):
        return names
    # The longer first: a folder may really lie below "/workspace", and then its real path begins with both.
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
