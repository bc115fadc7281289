"""What a run would change in its workspace, for a caller to review before it is done. Plain data and two verbs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, overload

from .errors import SandboxError

State = Literal["open", "being committed", "committed", "rolled back"]


@dataclass(frozen=True, slots=True)
class Change:
    """One file or folder. The path is relative to the workspace; that of a folder ends with a slash."""

    kind: Literal["added", "changed", "removed"]
    path: str
    size: int | None = None
    """Bytes afterwards; None for a folder and for what is removed."""
    old_size: int | None = None
    """Bytes before; None for a folder and for what is added."""

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


class Changes(Sequence[Change]):
    """The changes of one run, sorted by path. Nothing happens to the folder before `commit`.

    Both `commit` and `rollback` end it, and only one of them can. A commit that failed has changed nothing and may be
    tried again; of one that was cancelled `state` tells whether it has happened.
    """

    def __init__(
        self,
        changes: Iterable[Change] = (),
        commit: Callable[[Callable[[], None]], Awaitable[None]] | None = None,
    ) -> None:
        """`commit` is to make the changes, and to call what it is given once they are made."""
        self._changes = tuple(changes)
        self._commit = commit
        self._state: State = "open"

    @property
    def state(self) -> State:
        return self._state

    async def commit(self) -> None:
        """Make all of the changes, or none. Raises `WorkspaceConflict` when the folder is not what the run saw."""
        self._require_open("commit")
        # Set before the first wait: two tasks must not both apply it.
        self._state = "being committed"
        try:
            if self._commit is not None:
                await self._commit(partial(self._end, "committed"))
            self._end("committed")
        finally:
            # One that is cancelled in its last moment has happened all the same.
            if self._state == "being committed":
                self._state = "open"

    def rollback(self) -> None:
        """Forget the changes, and free the memory that they took."""
        self._require_open("roll back")
        self._end("rolled back")

    def _require_open(self, verb: str) -> None:
        if self._state != "open":
            raise SandboxError(f"Cannot {verb} these changes: they are already {self._state}")

    def _end(self, state: Literal["committed", "rolled back"]) -> None:
        self._state = state
        self._commit = None

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
