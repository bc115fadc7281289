"""Commits that kill their own process at a chosen moment. Run as a program; each line that it reads is one commit.

A line is JSON: the folder, "commit" or "recover" (what the next user of the folder does), the moment of the kill, and
the moment at which the disk reports a fault, both counted in checkpoints and -1 for never. The answer is a line: how
many moments there were, and how it ended. Each runs in a fork of this process, because an import takes longer than a
commit.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from functools import partial
from pathlib import Path

import anyio

sys.path.insert(0, str(Path(__file__).parents[3]))

from sandbox.workspace import WorkspaceError
from sandbox.workspace.commit import commit, prepare
from sandbox.workspace.difference import differences
from sandbox.workspace.folder import Folder
from sandbox.workspace.overlay import Overlay
from sandbox.workspace.terms import WorkspaceLimits

OLD = {
    "keep": b"untouched",
    "change": b"old",
    "big": b"o" * 300_000,
    "go": b"bye",
    "tree": None,
    "tree/one": b"1",
    "tree/sub": None,
    "tree/sub/two": b"2",
    "becomes folder": b"file",
    "becomes file": None,
    "becomes file/inner": b"inner",
}
NEW = {
    "keep": b"untouched",
    "change": b"new content",
    "big": b"n" * 300_001,
    "becomes folder": None,
    "becomes folder/x": b"x",
    "becomes file": b"now a file",
    "fresh": b"fresh",
    "made": None,
    "made/deep": None,
    "made/deep/y": b"y",
    "made/one": b"1",
}


class Moments:
    def __init__(self, kill_at: int, fail_at: int) -> None:
        self.count = 0
        self.names: list[str] = []
        self.kill_at = kill_at
        self.fail_at = fail_at

    def __call__(self, where: str) -> None:
        self.count += 1
        self.names.append(where)
        if self.count - 1 == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.count - 1 == self.fail_at:
            raise OSError(errno.EIO, os.strerror(errno.EIO))


async def changed(overlay: Overlay) -> None:
    write = partial(overlay.write, append=False, create=True, create_new=False)
    await write(("change",), b"new content")
    await write(("big",), b"n" * 300_001)
    await overlay.remove(("go",), recursive=False)
    await overlay.make_folder(("made", "deep"), recursive=True)
    await overlay.rename(("tree", "one"), ("made", "one"))
    await overlay.remove(("tree",), recursive=True)
    await overlay.remove(("becomes folder",), recursive=False)
    await overlay.make_folder(("becomes folder",), recursive=False)
    await write(("becomes folder", "x"), b"x")
    await overlay.remove(("becomes file",), recursive=True)
    await write(("becomes file",), b"now a file")
    await write(("fresh",), b"fresh")
    await write(("made", "deep", "y"), b"y")


def commit_or_recover(folder: Path, what: str, moments: Moments) -> str:
    if what == "recover":
        os.close(prepare(folder, moments))
        return "recovered"
    seen = Folder(partial(prepare, folder))
    seen.open()
    overlay = Overlay(seen, WorkspaceLimits())
    anyio.run(changed, overlay)
    seen.close()
    try:
        commit(folder, seen.identity, differences(overlay), moments)
    except WorkspaceError as error:
        return str(error)
    return "committed"


def main() -> None:
    anyio.run(anyio.sleep, 0)  # imports the event loop
    for line in sys.stdin:
        folder, what, kill_at, fail_at = json.loads(line)
        pid = os.fork()
        if pid == 0:
            moments = Moments(kill_at, fail_at)
            end = commit_or_recover(Path(folder), what, moments)
            print(json.dumps([moments.count, end]), flush=True)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL:
            print(json.dumps([kill_at, "killed"]), flush=True)


if __name__ == "__main__":
    main()
