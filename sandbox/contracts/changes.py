"""The file changes that a run proposes for its workspace: the caller reviews them, then commits or rolls back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol, overload

from .errors import SandboxError

State = Literal["open", "being committed", "committed", "rolled back"]


@dataclass(frozen=True, slots=True)
class Change:
    """One added, changed or removed file or folder. `path` is relative to the workspace; a folder's ends with "/"."""

    kind: Literal["added", "changed", "removed"]
    path: str
    size: int | None = None
    """Bytes after the change; None for a folder and for a removed file."""
    old_size: int | None = None
    """Bytes before the change; None for a folder and for an added file."""

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")

    def __str__(self) -> str:
        match self.size, self.old_size:
            case None, None:
                sizes = ""
            case None, size:
                sizes = f" ({size} bytes)"
            case size, None:
                sizes = f" ({size} bytes)"
            case size, old_size:
                sizes = f" ({old_size} to {size} bytes)"
        return f"{self.kind} {self.path}{sizes}"


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """The contents of one changed file, as bytes, to be looked at before a commit. None where there is no file, where
    its content is too large, or is not the one any more that the run saw."""

    change: Change
    before: bytes | None
    after: bytes | None


class ChangeContents(Protocol):
    """The contents behind the changes of one run."""

    async def files(self, max_file_bytes: int, max_total_bytes: int) -> list[ChangedFile]: ...

    async def hashes(self) -> tuple[str | None, ...]: ...

    async def packed(self) -> bytes: ...


class Changes(Sequence[Change]):
    """The changes of one run, sorted by path. The folder is unchanged until `commit`.

    Either `commit` or `rollback` ends it; the other then raises. A failed commit has changed nothing and can be
    retried; after a cancelled commit, `state` says whether the changes were made.
    """

    def __init__(
        self,
        changes: Iterable[Change] = (),
        commit: Callable[[Callable[[], None]], Awaitable[None]] | None = None,
        contents: ChangeContents | None = None,
    ) -> None:
        """`commit` makes the changes; it calls its argument as soon as they are made."""
        self._changes = tuple(changes)
        self._commit = commit
        self._contents = contents
        self._state: State = "open"

    @property
    def state(self) -> State:
        return self._state

    async def commit(self) -> None:
        """Make all of the changes, or none. Raises `WorkspaceConflict` when the folder changed since the run saw it."""
        self._require_open("commit")
        # Set before the first await: two tasks must not both apply the changes.
        self._state = "being committed"
        try:
            if self._commit is not None:
                await self._commit(partial(self._end, "committed"))
            self._end("committed")
        finally:
            # A commit that is cancelled after its changes were made is already "committed" here, and stays so.
            if self._state == "being committed":
                self._state = "open"

    def rollback(self) -> None:
        """Discard the changes and free their memory."""
        self._require_open("roll back")
        self._end("rolled back")

    async def files(self, max_file_bytes: int = 65_536, max_total_bytes: int = 1_048_576) -> list[ChangedFile]:
        """Each change with what its file held and would hold, while the changes are open. Contents beyond the limits
        are left out."""
        if self._contents is None:
            return [ChangedFile(change, None, None) for change in self._changes]
        return await self._contents.files(max_file_bytes, max_total_bytes)

    async def hashes(self) -> tuple[str | None, ...]:
        """The SHA-256 of each new content, in the order of the changes; None for a folder and for what is removed."""
        return (None,) * len(self._changes) if self._contents is None else await self._contents.hashes()

    async def packed(self) -> bytes:
        """The changes as bytes, while they are open: `Workspace.finish` makes them, also in another process. Empty if
        there are none."""
        self._require_open("keep")
        return b"" if self._contents is None else await self._contents.packed()

    def _require_open(self, verb: str) -> None:
        if self._state != "open":
            raise SandboxError(f"Cannot {verb} these changes: they are already {self._state}")

    def _end(self, state: Literal["committed", "rolled back"]) -> None:
        self._state = state
        self._commit = self._contents = None

    @overload
    def __getitem__(self, index: int) -> Change: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Change]: ...
    def __getitem__(self, index: int | slice) -> Change | Sequence[Change]:
        return self._changes[index]

    def __len__(self) -> int:
        return len(self._changes)

    def __eq__(self, other: object) -> bool:
        return self._changes == other._changes if isinstance(other, Changes) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._changes)

    def __repr__(self) -> str:
        shown = [str(change) for change in self._changes[:10]]
        if len(self._changes) > 10:
            shown.append(f"{len(self._changes) - 10} more")
        return f"<Changes ({self._state}): {'; '.join(shown) or 'none'}>"
