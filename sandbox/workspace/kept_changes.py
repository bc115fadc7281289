"""The changes of a run as bytes, so that another process can make them when this one dies before its commit.

The bytes are a line of JSON, then the new contents one after the other. They are for a place that only the owner can
write: whoever writes them decides what is written into the folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from .beneath import READ, open_beneath
from .commit import commit, prepare
from .difference import Difference
from .folder import Fact, fact_at
from .overlay import Dir, File
from .paths import MAX_DEPTH, usable
from .terms import WorkspaceError

Identity = tuple[int, int] | None
Number = Annotated[int, Field(ge=0)]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class _Fact(_Data):
    kind: Literal["file", "folder", "link", "other"]
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int
    uid: int
    gid: int


class _Path(_Data):
    path: Annotated[tuple[str, ...], Field(min_length=1, max_length=MAX_DEPTH)]
    before: _Fact | None
    after: Literal["file", "folder"] | None
    size: Number = 0
    mode: Number | None = None


class _Kept(_Data):
    identity: tuple[int, int] | None
    paths: tuple[_Path, ...]


def packed(identity: Identity, found: Sequence[Difference]) -> bytes:
    """The differences as bytes."""
    head = _Kept(identity=identity, paths=tuple(map(_path, found)))
    contents = [bytes(one.after.data) for one in found if isinstance(one.after, File)]
    return b"".join([head.model_dump_json().encode(), b"\n", *contents])


def unpacked(data: bytes) -> tuple[Identity, list[Difference]]:
    """Raises WorkspaceError for bytes that `packed` has not made."""
    head, _, contents = data.partition(b"\n")
    try:
        kept = _Kept.model_validate_json(head)
    except ValidationError as error:
        raise WorkspaceError("Cannot read the changes that were kept: they are damaged") from error
    found: list[Difference] = []
    at = 0
    for one in kept.paths:
        if not all(name not in ("", ".", "..") and "/" not in name and usable(name) for name in one.path):
            raise WorkspaceError("Cannot read the changes that were kept: a path makes no sense")
        before = None if one.before is None else Fact(**one.before.model_dump())
        after: File | Dir | None = None
        if one.after == "folder":
            after = Dir(through=False)
        elif one.after == "file":
            after = File(contents[at : at + one.size], one.mode)
            at += one.size
        found.append(Difference(one.path, before, after))
    if at != len(contents):
        raise WorkspaceError("Cannot read the changes that were kept: they are damaged")
    return kept.identity, found


def finish(folder: Path, data: bytes) -> bool:
    """Make the changes, unless all of them are made already; whether this call made them. Raises WorkspaceError, and
    WorkspaceConflict when the folder is neither as the run saw it nor as it left it."""
    identity, found = unpacked(data)
    root = prepare(folder)  # finishes a commit that was under way
    try:
        if all(_is_made(root, one) for one in found):
            return False
    finally:
        os.close(root)
    commit(folder, identity, found)
    return True


def _path(one: Difference) -> _Path:
    before = None if one.before is None else _Fact(**asdict(one.before))
    match one.after:
        case File() as file:
            return _Path(path=one.parts, before=before, after="file", size=len(file.data), mode=file.mode)
        case Dir():
            return _Path(path=one.parts, before=before, after="folder")
        case _:
            return _Path(path=one.parts, before=before, after=None)


def _is_made(root: int, one: Difference) -> bool:
    try:
        now = fact_at(root, one.parts)
    except OSError:
        now = None
    match one.after:
        case None:
            return now is None
        case Dir():
            return now is not None and now.kind == "folder"
        case File(data=data):
            if now is None or now.kind != "file" or now.size != len(data):
                return False
            try:
                with open(open_beneath(root, one.parts, READ), "rb") as file:
                    return file.read(len(data) + 1) == data
            except OSError:
                return False
