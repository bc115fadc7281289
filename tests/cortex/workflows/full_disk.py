"""A program for a test: saves steps of a run in a journal on a disk that becomes full. In a mount namespace of its own,
where anybody may mount a small file system; prints "cannot" where not even that is allowed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from cortex.workflows import JournalError, Saved, SqliteJournal, TaskRow
from tests.workflow_journal_conformance import NOW, event, led


def main(place: Path) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], check=False)
    if mounted.returncode:
        print("cannot")
        return
    journal = SqliteJournal(place / "journal")
    claim = led(journal)
    filler = os.open(place / "filler", os.O_WRONLY | os.O_CREAT)
    os.posix_fallocate(filler, 0, 1_000_000)
    kept = 0
    for size in (*[100_000] * 100, 1_500_000):
        try:
            journal.save(claim, Saved(tasks=[TaskRow(f"t{kept}", "ok", result="x" * size)], events=[event()]), NOW)
            kept += 1
        except JournalError as error:
            print(error)
            if size > 1_000_000 or kept == 0:
                break
            try:
                journal.save(claim, Saved(tasks=[TaskRow(f"t{kept}", "ok", result="x" * 1_500_000)]), NOW)
            except JournalError as large:
                print(large)
            break
    report(journal, kept)
    report(SqliteJournal(place / "journal"), kept)
    os.ftruncate(filler, 0)
    journal.save(claim, Saved(tasks=[TaskRow(f"t{kept}", "ok", result="x" * 100_000)], events=[event()]), NOW)
    report(SqliteJournal(place / "journal"), kept + 1)


def report(journal: SqliteJournal, kept: int) -> None:
    state = journal.load("r1")
    print(kept > 0 and {*state.tasks} == {f"t{n}" for n in range(kept)} and len(journal.events("r1")) == kept)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
