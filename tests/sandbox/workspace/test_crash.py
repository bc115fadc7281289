"""A committing process is killed at every checkpoint: afterwards the folder is the old or the new one, and clean."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.workspace.commit import prepare

from . import crashing
from .crashing import NEW, OLD, Moments, commit_or_recover
from .support import MEMORY, contents

NEVER = -1


class Crashes:
    """Folders in the old state, and processes that commit to them until they are killed."""

    def __init__(self, top: Path, process: subprocess.Popen[str]) -> None:
        self._top = top
        self._process = process
        self._numbers = itertools.count()

    def folder(self) -> Path:
        made = self._top / str(next(self._numbers))
        made.mkdir()
        for name, content in OLD.items():
            if content is None:
                (made / name).mkdir()
            else:
                (made / name).write_bytes(content)
        return made

    def run(self, folder: Path, what: str, kill_at: int = NEVER, fail_at: int = NEVER) -> tuple[int, str]:
        """How many moments there were, and how it ended."""
        self._process.stdin.write(json.dumps([str(folder), what, kill_at, fail_at]) + "\n")
        self._process.stdin.flush()
        count, end = json.loads(self._process.stdout.readline())
        return count, end


@pytest.fixture
def crashes() -> Iterator[Crashes]:
    # A kill does not ask whether the disk was flushed.
    with (
        tempfile.TemporaryDirectory(dir=MEMORY) as top,
        subprocess.Popen(
            [sys.executable, "-I", crashing.__file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        yield Crashes(Path(top), process)
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def recovered(folder: Path) -> dict[str, bytes | str | None]:
    os.close(prepare(folder))
    return contents(folder)


def test_a_commit_that_is_left_alone_makes_all_changes(crashes):
    folder = crashes.folder()
    moments, end = crashes.run(folder, "commit")
    assert end == "committed"
    assert moments > 50
    assert contents(folder) == NEW


def test_killed_at_any_moment_it_is_the_old_or_the_new_folder(crashes):
    ends = []
    for moment in itertools.count():
        folder = crashes.folder()
        _, end = crashes.run(folder, "commit", kill_at=moment)
        after = recovered(folder)
        assert after in (OLD, NEW), (moment, after)
        ends.append(after == NEW)
        if end == "committed":
            break
    assert moment > 50
    # There is one moment before which it is the old one and after which it is the new one.
    assert ends == sorted(ends)
    assert set(ends) == {False, True}


def test_killed_while_it_is_recovered_and_again_it_is_still_whole(crashes):
    rng = random.Random(20)
    moments, _ = crashes.run(crashes.folder(), "commit")
    for _ in range(25):
        folder = crashes.folder()
        crashes.run(folder, "commit", kill_at=rng.randrange(moments))
        for _ in range(rng.randrange(1, 4)):
            crashes.run(folder, "recover", kill_at=rng.randrange(moments // 2))
        after = recovered(folder)
        assert after in (OLD, NEW), after


def test_a_fault_of_the_disk_at_any_moment_changes_nothing_or_everything(crashes):
    for moment in itertools.count():
        folder = crashes.folder()
        moments = Moments(kill_at=NEVER, fail_at=moment)
        end = commit_or_recover(folder, "commit", moments)
        # Without any recovery: a reader now finds what the commit has reported.
        after = {name: data for name, data in contents(folder).items() if not name.startswith(".motor-cortex-")}
        if end == "committed":
            assert after == recovered(folder) == NEW
        else:
            assert "Input/output error; nothing has changed" in end
            assert after == recovered(folder) == OLD, (moment, after)
        if moment >= moments.count:
            break
    assert moment > 50


def test_killed_at_any_moment_of_being_undone_it_is_the_old_folder(crashes):
    whole = Moments(kill_at=NEVER, fail_at=NEVER)
    commit_or_recover(crashes.folder(), "commit", whole)
    # The last fault that can be: everything is in place by then, and everything has to go back.
    fault = whole.names.index("flushed folders")
    for moment in itertools.count(fault + 1):
        folder = crashes.folder()
        _, end = crashes.run(folder, "commit", kill_at=moment, fail_at=fault)
        assert recovered(folder) == OLD, moment
        if end != "killed":
            break
    assert moment > fault + 20


def test_killed_at_random_while_it_is_undone_it_is_whole(crashes):
    rng = random.Random(7)
    moments, _ = crashes.run(crashes.folder(), "commit")
    killed = 0
    for _ in range(40):
        folder = crashes.folder()
        fault = rng.randrange(moments)
        _, end = crashes.run(folder, "commit", kill_at=fault + rng.randrange(1, 25), fail_at=fault)
        killed += end == "killed"
        after = recovered(folder)
        assert after in (OLD, NEW), (fault, after)
        if "nothing has changed" in end:
            assert after == OLD
    assert killed > 10
