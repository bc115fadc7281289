"""The five interfaces (ports) of a home: everything that outlives a process is stored through one of them.

| port            | what it keeps                                    | in files                   |
|-----------------|--------------------------------------------------|----------------------------|
| Storage         | documents: neurons, habits, recordings, stores   | neurons.DeferredStorage    |
| Ledger          | energy                                           | cortex.energy.EnergyReserve|
| Trail           | the audit                                        | cortex.audit.Audit         |
| Lines           | memory, the history of the chat                  | sandbox.LineFile           |
| Lease, Switch   | one leader among processes; the kill switch      | sandbox.FileLock, KillSwitch |

Every adapter must pass the suites of `tests/home_conformance.py`. Sandbox processes and their notes, the wall's
self-test, the result cache, workspaces, secrets and settings are always local, and need no port.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cortex.audit import Trail
    from cortex.energy import Entry, Ledger
    from cortex.settings import AuditSettings, EnergySettings
    from neurons import Lease, Record, Storage, Switch


class Lines(Protocol):
    """Lines that are only appended, shared by all processes of a home. The newest ones stay, as many as were asked for;
    older ones may go."""

    def append(self, lines: bytes) -> None:
        """Append one or more lines, each with its line end, whole or not at all. Raises OSError or LockBusy."""
        ...

    def last(self, most: int) -> list[bytes]:
        """The newest `most` lines, oldest first, without their line ends."""
        ...

    def close(self) -> None: ...


class HomePorts(Protocol):
    """Opens the ports of one home. Each call gives another object on the same state, as another process would have."""

    def storage(self) -> Storage: ...

    def ledger(self, settings: EnergySettings, *, on_change: Callable[[Entry], None]) -> Ledger: ...

    def trail(self, settings: AuditSettings) -> Trail: ...

    def lines(self, name: str, *, keep: int, max_line_bytes: int) -> Lines: ...

    def lease(self, name: str) -> Lease: ...

    def switch(self, *, record: Record | None = None) -> Switch: ...
