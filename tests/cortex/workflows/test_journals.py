"""Both journals conform."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cortex.workflows import Journal, MemoryJournal, SqliteJournal
from tests.workflow_journal_conformance import JournalConformance


class TestJournalInSqlite(JournalConformance):
    @pytest.fixture
    def another(self, tmp_path: Path) -> Callable[[], Journal]:
        return lambda: SqliteJournal(tmp_path / "journal")

    @pytest.fixture
    def preamble(self, tmp_path: Path) -> str:
        return f"from pathlib import Path\njournal = SqliteJournal(Path({str(tmp_path / 'journal')!r}))"


class TestJournalInMemory(JournalConformance):
    @pytest.fixture
    def another(self) -> Callable[[], Journal]:
        shared = MemoryJournal()
        return lambda: MemoryJournal(shared)
