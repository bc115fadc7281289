"""Workspace, a folder that the caller grants to runs, and Transaction, one run's use of it."""

from __future__ import annotations

import binascii
import logging
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from ..contracts import Changes, FileCall, ToolError, encode, to_the_end
from .commit import commit, prepare
from .contents import Contents
from .difference import Difference, differences, listing
from .folder import Fact, Folder, has_ended, is_link, open_folder
from .kept_changes import finish
from .overlay import File, Node, Overlay
from .paths import resolve, shown
from .terms import WorkspaceBusy, WorkspaceError, WorkspaceLimits
from .transfers import Upload, flags, listing_json

log = logging.getLogger("motor_cortex.sandbox")

LOCK_WAIT_S = 10.0
"""How long to wait for another process's commit."""
_POLL_S = 0.01

_PARAMS: dict[str, dict[str, type]] = {
    "readFile": {"path": str},
    "writeFile": {
        "path": str,
        "data": str,
        "append": bool,
        "create": bool,
        "create_new": bool,
        "upload": int,
        "size": int,
        "last": bool,
    },
    "readDir": {"path": str},
    "stat": {"path": str},
    "lstat": {"path": str},
    "mkdir": {"path": str, "recursive": bool},
    "remove": {"path": str, "recursive": bool},
    "rename": {"path": str, "to": str},
    "copyFile": {"path": str, "to": str},
    "realPath": {"path": str},
}
_READING = frozenset({"readFile", "readDir", "stat", "lstat", "realPath"})
_WANTED = {str: "a text", bool: "true or false", int: "a whole number"}


class Workspace:
    """A folder that runs may use. They see it at "/workspace", and change it only when their caller commits."""

    def __init__(self, folder: Path | str, limits: WorkspaceLimits | None = None, *, read_only: bool = False) -> None:
        if not os.fspath(folder):
            raise WorkspaceError("Cannot use a workspace without a folder")
        self.folder = Path(os.path.abspath(folder))
        self.limits = limits
        self.read_only = read_only
        """Writing is refused: the code gets PermissionDenied, and there is never a change."""
        # Raise now if the folder cannot be used, not when the first code fails.
        os.close(open_folder(self.folder))

    async def finish(self, kept: bytes) -> bool:
        """Make changes that `Changes.packed` has kept, unless all of them are made already; whether this call made
        them. Raises WorkspaceError, and WorkspaceConflict when the folder has changed since the run saw it."""
        done = False

        def work() -> None:
            nonlocal done
            done = finish(self.folder, kept)

        await _patiently(partial(to_the_end, work))
        return done

    def begin(self, default: WorkspaceLimits | None = None) -> Transaction:
        """Begin the transaction of one run, with the workspace's own limits or else `default`. Opens nothing before the
        run uses a file."""
        return Transaction(self.folder, self.limits or default or WorkspaceLimits(), read_only=self.read_only)


class Transaction:
    """What one run sees and writes. `changes` or `drop` ends it; it answers nothing afterwards."""

    def __init__(self, folder: Path, limits: WorkspaceLimits, *, read_only: bool = False) -> None:
        self._path = folder
        self._read_only = read_only
        self._limits = limits
        self._folder = Folder(partial(prepare, folder))
        self._overlay: Overlay | None = Overlay(self._folder, limits)
        self._turn = anyio.Lock()
        self.calls = 0
        self.max_calls = limits.max_calls + 100
        """A run that makes more calls than this ignores its errors, and is ended."""

    async def answer(self, call: FileCall) -> bytes:
        """Do one file operation; return the answer as JSON. Raises ToolError with a message that the code may see."""
        if self.calls >= self._limits.max_calls:
            raise ToolError(f"More than {self._limits.max_calls} calls for files", code="LimitError")
        self.calls += 1
        params = _checked(call)
        if self._read_only and call.operation not in _READING:
            raise ToolError("The workspace is read-only", code="PermissionDenied")
        # One at a time: each operation looks before it writes, and another must not write in between (a race).
        async with self._turn:
            if self._overlay is None:
                raise has_ended()
            if not self._folder.is_open:
                await self._open()
            overlay = self._overlay
            try:
                return await _Operation(overlay, str(self._path), params).run(call.operation)
            except ToolError:
                if call.operation == "writeFile":
                    overlay.uploads.forget(params["upload"])
                raise

    def changes(self) -> Changes:
        """End the run's use of files; return the changes that it proposes."""
        overlay = self._overlay
        self.drop()
        found = differences(overlay) if overlay is not None else []
        if not found:
            return Changes()
        identity, changes = self._folder.identity, listing(found)
        contents = Contents(self._path, identity, found, changes)
        return Changes(changes, partial(_commit, self._path, identity, found), contents)

    def drop(self) -> None:
        """Discard everything that the run has written."""
        self._overlay = None
        self._folder.close()

    async def _open(self) -> None:
        try:
            await _patiently(partial(anyio.to_thread.run_sync, self._folder.open, abandon_on_cancel=True))
        except WorkspaceBusy as error:
            raise ToolError(str(error), code="Busy", retryable=True) from error
        except WorkspaceError as error:
            # The message names a path of the host: the code must not see it, the log has it.
            log.warning("Cannot use the workspace", exc_info=error)
            raise ToolError("The workspace cannot be used any more", code="NotFound") from error
        if self._folder.closed:
            raise has_ended()


class _Operation:
    def __init__(self, overlay: Overlay, folder: str, params: dict[str, Any]) -> None:
        self._overlay = overlay
        self._params = params
        self._path = resolve(params["path"], folder)
        self._to = resolve(params["to"], folder) if "to" in params else ()

    async def run(self, operation: str) -> bytes:
        overlay, path, params = self._overlay, self._path, self._params
        match operation:
            case "readFile":
                return await overlay.read(path)
            case "readDir":
                return await listing_json(await overlay.entries(path))
            case "stat":
                return encode(_status(await self._followed()))
            case "lstat":
                return encode(_status(await overlay.look(path)))
            case "realPath":
                await self._followed()
                return encode(shown(path))
            case "writeFile":
                upload = Upload(path, **{name: params[name] for name in ("size", "append", "create", "create_new")})
                await overlay.write_piece(params["upload"], upload, _bytes(params["data"]), last=params["last"])
            case "mkdir":
                await overlay.make_folder(path, recursive=params["recursive"])
            case "remove":
                await overlay.remove(path, recursive=params["recursive"])
            case "rename":
                await overlay.rename(path, self._to)
            case "copyFile":
                await overlay.copy(path, self._to)
        return b"null"

    async def _followed(self) -> Node | Fact:
        found = await self._overlay.look(self._path)
        if isinstance(found, Fact) and found.kind == "link":
            raise is_link(self._path)
        return found


def _checked(call: FileCall) -> dict[str, Any]:
    kinds = _PARAMS.get(call.operation)
    if kinds is None:
        raise ToolError(f'There is no operation "{call.operation[:32]}" on files', code="InvalidData")
    if call.params.keys() != kinds.keys():
        raise ToolError(f"{call.operation} takes {', '.join(kinds)}", code="InvalidData")
    for name, kind in kinds.items():
        value = call.params[name]
        # The exact type: to Python, True is an int, and would be the same upload as 1.
        if type(value) is not kind or (isinstance(value, int) and value < 0):
            raise ToolError(f"{call.operation}: {name} must be {_WANTED[kind]}", code="InvalidData")
    return call.params


def _bytes(data: str) -> bytes:
    try:
        return binascii.a2b_base64(data, strict_mode=True)
    except ValueError as error:
        raise ToolError("writeFile: data must be base64", code="InvalidData") from error


def _status(found: Node | Fact) -> dict[str, Any]:
    match found:
        case Fact(kind="folder"):
            return {**flags("folder"), "size": 0, "mtime": found.mtime_ns // 1_000_000}
        case Fact():
            return {**flags(found.kind), "size": found.size, "mtime": found.mtime_ns // 1_000_000}
        case File():
            return {**flags("file"), "size": len(found.data), "mtime": None}
        case _:
            return {**flags("folder"), "size": 0, "mtime": None}


async def _commit(
    folder: Path, identity: tuple[int, int] | None, found: list[Difference], done: Callable[[], None]
) -> None:
    def work() -> None:
        commit(folder, identity, found)
        done()

    await _patiently(partial(to_the_end, work))


async def _patiently(work: Callable[[], Awaitable[None]]) -> None:
    """Retry the work while another process holds the lock. The wait is here, where it can be cancelled."""
    deadline = anyio.current_time() + LOCK_WAIT_S
    while True:
        try:
            return await work()
        except WorkspaceBusy:
            if anyio.current_time() >= deadline:
                raise
        await anyio.sleep(_POLL_S)
