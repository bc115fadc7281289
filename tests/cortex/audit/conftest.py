"""A log in a folder of its own, and a clock that stands where it was put."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cortex.audit import Audit
from cortex.settings.sections import AuditSettings


class Clock:
    def __init__(self) -> None:
        self.at = datetime(2026, 11, 16, 11, 30, tzinfo=UTC)

    def __call__(self) -> float:
        return self.at.timestamp()

    def forward(self, **amount: float) -> None:
        self.at += timedelta(**amount)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "home" / "audit"


@pytest.fixture
def audit(folder: Path, clock: Clock) -> Iterator[Audit]:
    audit = Audit(folder, AuditSettings(), now=clock)
    yield audit
    audit.close()
