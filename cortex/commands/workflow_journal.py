"""The journal of the home for commands that need no cortex, and the run that a person means."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cortex.home import Home
from cortex.settings import Settings
from cortex.workflows import DATABASE, JournalError, KeptFiles, NoSuchRun, SqliteJournal

from .exits import CODE_FAILED, CommandError

if TYPE_CHECKING:
    from cortex.workflows import RunState

LEAST_ID = 4
MAX_RUNS = 10_000


@contextmanager
def journal_of(settings: Settings, *, makes: bool = False) -> Iterator[SqliteJournal]:
    """The journal of the home. Without `makes`, a home that has none is an error: looking creates nothing. Raises
    CommandError."""
    if not makes and not has_journal(settings):
        raise CommandError(f'there are no runs in "{settings.home}" yet: cortex workflow run FILE starts one')
    journal = SqliteJournal(Home(settings.home).workflows)
    try:
        yield journal
    finally:
        journal.close()


def kept_files(settings: Settings) -> KeptFiles:
    """Changes of files that wait for their checkpoint."""
    return KeptFiles(Home(settings.home).workflows / "changes")


def has_journal(settings: Settings) -> bool:
    try:
        return (settings.home / "workflows" / DATABASE).exists()
    except OSError as error:
        raise CommandError(f'cannot look into "{settings.home}": {error.strerror}', CODE_FAILED) from error


def chosen_run(journal: SqliteJournal, name: str) -> RunState:
    """The run of that id, or the only one whose id begins so. Raises NoSuchRun, CommandError and JournalError."""
    try:
        return journal.load(name)
    except NoSuchRun:
        pass
    except JournalError:
        if 1 <= len(name) <= 200 and name.isprintable():
            raise
        raise CommandError(f"{name[:40]!r} cannot be the id of a run") from None
    found = [row.id for row in journal.list(limit=MAX_RUNS) if row.id.startswith(name)] if len(name) >= LEAST_ID else []
    if len(found) > 1:
        raise CommandError(f'"{name}" may be {", ".join(found[:5])}: say more of it')
    if not found:
        raise CommandError(f'there is no run "{name[:80]}"; cortex workflow list lists the runs')
    return journal.load(found[0])
