"""Implements the five ports of a home with files."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from cortex.audit import Audit
from cortex.energy import EnergyReserve
from neurons import DeferredStorage, KillSwitch
from sandbox import FileLock, LineFile

if TYPE_CHECKING:
    from cortex.energy import Entry
    from cortex.settings import AuditSettings, EnergySettings
    from neurons import Record
    from sandbox import Flusher

    from .home import Home


def _nobody(entry: Entry) -> None:
    pass


class HomeFiles:
    """`HomePorts` in the folders of a home. With a flusher, writes that may wait are flushed to disk by it."""

    def __init__(self, home: Home, *, now: Callable[[], float] = time.time, flusher: Flusher | None = None) -> None:
        self._home = home
        self._now = now
        self._flusher = flusher

    def storage(self) -> DeferredStorage:
        return DeferredStorage(self._home.state, flusher=self._flusher)

    def ledger(self, settings: EnergySettings, *, on_change: Callable[[Entry], None] = _nobody) -> EnergyReserve:
        return EnergyReserve(self._home.state, settings, now=self._now, flusher=self._flusher, on_change=on_change)

    def trail(self, settings: AuditSettings) -> Audit:
        return Audit(self._home.audit, settings, now=self._now, flusher=self._flusher)

    def lines(self, name: str, *, keep: int, max_line_bytes: int) -> LineFile:
        path = self._home.state / f"{name}.jsonl"
        return LineFile(path, max_line_bytes=max_line_bytes, keep=keep, flusher=self._flusher)

    def lease(self, name: str) -> FileLock:
        return FileLock(self._home.state / f"{name}.lock")

    def switch(self, *, record: Record | None = None) -> KillSwitch:
        return KillSwitch(self._home.state, record=record, now=self._now)
