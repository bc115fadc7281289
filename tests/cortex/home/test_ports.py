"""The ports of a home conform: in files all of them, in memory the documents."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from cortex.home import Home, HomeFiles, HomePorts
from neurons import MemoryStorage
from tests.home_conformance import (
    Clock,
    LeaseConformance,
    LedgerConformance,
    LinesConformance,
    StorageConformance,
    SwitchConformance,
    TrailConformance,
)

pytestmark = pytest.mark.anyio


class InFiles:
    @pytest.fixture
    def home(self, tmp_path: Path, clock: Clock) -> HomePorts:
        return HomeFiles(Home(tmp_path), now=clock)

    @pytest.fixture
    def preamble(self, tmp_path: Path) -> str:
        return (
            "from pathlib import Path\nfrom cortex.home import Home, HomeFiles\n"
            f"home = HomeFiles(Home(Path({str(tmp_path)!r})), now=lambda: {Clock().now!r})"
        )


class TestStorageInFiles(InFiles, StorageConformance):
    pass


class TestLedgerInFiles(InFiles, LedgerConformance):
    pass


class TestTrailInFiles(InFiles, TrailConformance):
    pass


class TestLinesInFiles(InFiles, LinesConformance):
    pass


class TestLeaseInFiles(InFiles, LeaseConformance):
    pass


class TestSwitchInFiles(InFiles, SwitchConformance):
    pass


class TestStorageInMemory(StorageConformance):
    @pytest.fixture
    def home(self) -> SimpleNamespace:
        disk = MemoryStorage()
        return SimpleNamespace(storage=lambda: MemoryStorage(disk))
