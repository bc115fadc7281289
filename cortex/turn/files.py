"""Files for the agent's code: the folder that the owner grants, and what becomes of the changes that a run proposes.

A run changes nothing by itself. What it proposes is settled once, after its end and before its answer: written down,
asked about where the owner wants that, committed as a whole or not at all, and told.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import anyio.to_thread
from pydantic_core import to_json

from cortex.audit import AuditError
from cortex.contracts import FilesChanged
from cortex.text import visible
from cortex.tools import COMMIT, NotAllowed
from sandbox import SandboxError, Workspace, WorkspaceConflict, WorkspaceError

from .file_lines import MAX_READ_BYTES, MAX_READ_TOTAL_BYTES, diff_lines, heading, listed, reply_lines
from .watched_files import needs_eyes

if TYPE_CHECKING:
    from cortex.contracts import CortexEvent, RunCodeIntent
    from cortex.tools import Consent
    from neurons import Switch
    from sandbox import Changes, ExecutionOutcome, WorkspaceLimits

log = logging.getLogger("motor_cortex")

Commit: TypeAlias = Literal["ask", "auto", "never"]
"""Who decides about changes. `ask`: the owner decides about each run. `auto`: each run that succeeds is committed.
`never`: no run is."""

Keep: TypeAlias = "Callable[[Changes, FilesChanged], Awaitable[None]]"
"""Takes changes that may be made, and what to announce once they are. Raises SandboxError if it cannot keep them."""

MAX_STRUCTURED = 100
"""Changes by name in the structured answer of `execute_code`."""
_MAX_HASHES = 50
_MAX_REASON = 300
_ONLY_SHOWN = "changes are only shown here"
_NO_CHANGE = "No file was changed."


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that the agent's code sees as `/workspace`, and who decides about the changes that it makes there.

    Raises WorkspaceError when it is no folder that can be used."""

    path: Path | str
    commit: Commit = "ask"
    limits: WorkspaceLimits | None = None
    """None takes those of the settings, `sandbox.workspace`."""
    workspace: Workspace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.commit not in get_args(Commit):
            raise ValueError(f"commit is one of {', '.join(get_args(Commit))}, not {str(self.commit)[:40]!r}")
        object.__setattr__(self, "workspace", Workspace(self.path, self.limits))

    def require_apart(self, home: Path) -> None:
        """Raise WorkspaceError if the home of the cortex is in this folder, or this folder in it: there lie the audit,
        the approvals and the energy, about which no code may decide."""
        here, there = Path(os.path.realpath(self.workspace.folder)), Path(os.path.realpath(home))
        for inner, outer in ((there, here), (here, there)):
            if any(_is_same(one, outer) for one in (inner, *inner.parents)):
                where = "it holds the home of the cortex" if outer == here else "it lies in the home of the cortex"
                raise WorkspaceError(f'Cannot use "{self.workspace.folder}" as a workspace: {where}')


def _is_same(one: Path, other: Path) -> bool:
    """Whether both are the same folder, also by another name: on some disks, capitals make no difference."""
    try:
        return one == other or one.samefile(other)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class FileTerms:
    """The terms on which the changes of one caller's runs are settled."""

    folder: Folder
    consent: Consent
    switch: Switch
    announce: Callable[[CortexEvent], None]
    own: tuple[Path, ...] = ()
    """Files that decide what the cortex does, about which the owner is always asked."""
    keep: Keep | None = None
    """Where changes go that are to be committed later; None commits them at once."""


@dataclass(frozen=True, slots=True)
class SettledFiles:
    """What became of the changes of a run. Not redacted."""

    lines: tuple[str, ...]
    """What the model reads, below the reply."""
    structured: dict[str, Any]
    """The same for programs."""


async def settle_files(
    outcome: ExecutionOutcome, intent: RunCodeIntent, code_hash: str, terms: FileTerms
) -> SettledFiles:
    """Commit the changes of a run, or not, as the owner has decided or decides now. Raises only a cancellation, and
    what is wrong with the host itself; what was not committed then is forgotten."""
    changes = outcome.changes
    if not outcome.ok:
        if changes:  # of a runtime that is not ours
            changes.rollback()
        return SettledFiles((_NO_CHANGE,), {"committed": False, "changes": []})
    if not changes:
        return SettledFiles((), {"committed": False, "changes": []})
    proposed = await _proposed(changes, intent, code_hash)
    if terms.keep is not None:
        return await _kept_for_later(changes, proposed, intent, terms, terms.keep)

    def tell(reason: str) -> None:
        is_made = changes.state == "committed"
        terms.announce(replace(proposed, state="committed" if is_made else "not committed", reason=reason))

    reason = await commit_changes(
        changes,
        terms.folder.workspace.folder,
        refusal=lambda: _refusal(changes, intent, terms),
        killed=terms.switch.refusal,
        begin=lambda: terms.announce(proposed),
        end=tell,
    )
    return _settled(changes, reason)


async def _kept_for_later(
    changes: Changes, proposed: FilesChanged, intent: RunCodeIntent, terms: FileTerms, keep: Keep
) -> SettledFiles:
    """Give changes that may be made to the one who makes them later; forget the others."""
    reason = ""
    try:
        reason = await _refusal(changes, intent, terms)
        if not reason:
            await keep(changes, proposed)
            return SettledFiles((), {"committed": False, "kept": True, "changes": [], "count": len(changes)})
    except BaseException as error:
        reason = type(error).__name__
        raise
    finally:
        if reason:
            changes.rollback()
            terms.announce(replace(proposed, state="not committed", reason=reason))
    return _settled(changes, reason)


async def commit_changes(
    changes: Changes,
    folder: Path | str,
    *,
    refusal: Callable[[], Awaitable[str]],
    killed: Callable[[], str | None],
    begin: Callable[[], object],
    end: Callable[[str], None],
) -> str:
    """Make the changes, or forget them; returns why they were not made. `begin` writes down that they are about to be
    made, `end` what became of them, also after a cancellation."""
    reason = ""
    try:
        # The owner may have taken time to answer, and used it to turn on the kill switch.
        reason = await refusal() or killed() or await _made(changes, folder, begin)
    except BaseException as error:
        reason = type(error).__name__
        raise
    finally:
        # Also after a cancellation: a commit that had begun has ended by now, and says how.
        if changes.state != "committed":
            changes.rollback()
        end(reason)
    return reason


async def _proposed(changes: Changes, intent: RunCodeIntent, code_hash: str) -> FilesChanged:
    content_hashes, changes_hash = await _hashes(changes)
    return FilesChanged(
        intent,
        "committing",
        Counter(change.kind for change in changes),
        content_hashes,
        changes_hash,
        code_hash=code_hash,
    )


async def _hashes(changes: Changes) -> tuple[tuple[str, ...], str]:
    """The hashes of the new contents, and one of all of the changes with their names."""
    hashes = await changes.hashes()
    named = [(change.kind, change.path, hash_) for change, hash_ in zip(changes, hashes, strict=True)]
    contents = tuple(hash_ for hash_ in hashes if hash_ is not None)[:_MAX_HASHES]
    return contents, hashlib.sha256(to_json(named)).hexdigest()


async def facts_of_changes(changes: Changes) -> dict[str, Any]:
    """What the audit says of changes that no run of an agent proposes: counts and hashes, neither a name nor a
    content."""
    content_hashes, changes_hash = await _hashes(changes)
    counts = Counter(change.kind for change in changes)
    return {
        **{kind: counts[kind] for kind in ("added", "changed", "removed")},
        "changes_hash": changes_hash,
        "content_hashes": content_hashes,
    }


async def _refusal(changes: Changes, intent: RunCodeIntent, terms: FileTerms) -> str:
    """Why the changes are not to be made; empty if they are."""
    match terms.folder.commit:
        case "never":
            return _ONLY_SHOWN
        case "auto" if not await needs_eyes(changes, terms.folder.workspace.folder, terms.own):
            return ""
    files = await changes.files(MAX_READ_BYTES, MAX_READ_TOTAL_BYTES)
    asked = {
        "folder": str(terms.folder.workspace.folder),
        "changes": listed(changes),
        # In a thread, however small: comparing takes its time by the number of lines.
        "diff": await anyio.to_thread.run_sync(diff_lines, files, abandon_on_cancel=True),
    }
    permission = await terms.consent.ask(COMMIT, asked, origin="code", purpose=intent.payload.purpose)
    return permission.reason if isinstance(permission, NotAllowed) else ""


async def _made(changes: Changes, folder: Path | str, begin: Callable[[], object]) -> str:
    """Make the changes. Returns why that failed; empty if they are made."""
    try:
        # Before the commit: what cannot be written down is not done.
        begin()
        await changes.commit()
    except AuditError as error:
        return str(error)
    except WorkspaceConflict as error:
        return f"{_without_place(error, folder)}. Look at it again, and repeat what is still to be done"
    except SandboxError as error:
        log.warning("Changes of files cannot be committed: %s", error)
        return _without_place(error, folder)
    return ""


def _without_place(error: SandboxError, folder: Path | str) -> str:
    """The message, without the place of the folder, which is no business of the model's."""
    text = str(error).replace(str(folder), "/workspace") if str(folder) else str(error)
    return " ".join(visible(text[:_MAX_REASON]).split())


def _settled(changes: Changes, reason: str) -> SettledFiles:
    is_made = changes.state == "committed"
    head = heading(changes, "Files written") if is_made else f"{heading(changes, 'Files not written')} ({reason})"
    structured: dict[str, Any] = {
        "committed": is_made,
        "changes": [
            {"kind": change.kind, "path": visible(change.path), "size": change.size}
            for change in changes[:MAX_STRUCTURED]
        ],
        "count": len(changes),
    }
    return SettledFiles(tuple(reply_lines(changes, head)), structured if is_made else {**structured, "reason": reason})
