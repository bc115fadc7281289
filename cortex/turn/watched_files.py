"""Which changes the owner is asked about also with "auto": those that make another program, or the cortex itself, do
something else than before."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

import anyio.to_thread

if TYPE_CHECKING:
    from cortex.settings import Settings
    from cortex.tools import Toolbox
    from sandbox import Change


class Watched(NamedTuple):
    """The name of a file or folder, in small letters: on some disks, capitals make no difference."""

    name: str
    why: str


# Short on purpose: programs that run something without being told to, when a person only looks at a folder. What a
# person starts (make, npm, pytest) is for the person to look at.
WATCHED = (
    Watched(".git", "git runs what its folder says, at the next `git status`"),
    Watched("head", "git takes a folder with this file for a repository, whatever the name of the folder is"),
    Watched(".envrc", "direnv runs it in a shell that enters the folder"),
    Watched(".vscode", "an editor runs its tasks when the folder is opened"),
    Watched(".mcp.json", "agents start the commands that it names"),
)
_NAMES = frozenset(watched.name for watched in WATCHED)


def own_files(settings: Settings, toolbox: Toolbox | None = None) -> tuple[Path, ...]:
    """The files that decide what this cortex does: those of its settings, those that they name, and its tools."""
    network = settings.sandbox.network
    named = (network.secrets_file, network.ca_file, settings.sandbox.deno_path)
    tools = () if toolbox is None else toolbox.source_files()
    return (*settings.read_from, *(Path(path) for path in named if path is not None), *tools)


async def needs_eyes(changes: Sequence[Change], folder: Path, own: Sequence[Path] = ()) -> bool:
    """Whether the owner has to look at these changes in the folder, of which `own` decide what the cortex does."""
    paths = [change.path for change in changes]
    if any(is_watched(path) for path in paths):
        return True
    # In a thread: it asks the disk.
    return await anyio.to_thread.run_sync(_meets_own_or_repository, paths, folder, own, abandon_on_cancel=True)


def is_watched(path: str) -> bool:
    """Whether the path in the workspace has a name of WATCHED in it. Pure."""
    return not _NAMES.isdisjoint(path.casefold().split("/"))


def _meets_own_or_repository(paths: Sequence[str], folder: Path, own: Sequence[Path]) -> bool:
    kept = {within.casefold() for path in own for within in _within(path, folder)}
    # Also a folder above such a file: it may be removed or take another name with all that is in it.
    above = {str(parent) for path in kept for parent in PurePosixPath(path).parents}
    if any(path.casefold() in kept or path.casefold() in above for path in paths):
        return True
    parents = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    return any(os.path.lexists(folder / parent / "HEAD") for parent in parents)


def _within(path: Path, folder: Path) -> Iterator[str]:
    """The names of the file in the folder: as it was given, and after links are followed."""
    absolute = os.path.abspath(os.path.expanduser(path))
    real_parent = os.path.join(os.path.realpath(os.path.dirname(absolute)), os.path.basename(absolute))
    for name in {absolute, real_parent, os.path.realpath(absolute)}:
        for top in _tops(folder):
            if name.startswith(top):
                yield name[len(top) :]


def _tops(folder: Path) -> Iterable[str]:
    return {os.path.join(os.path.abspath(folder), ""), os.path.join(os.path.realpath(folder), "")}
