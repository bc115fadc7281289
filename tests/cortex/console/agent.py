"""An agent of a home, which proposes neurons."""

from __future__ import annotations

import time

from cortex.audit import Audit
from cortex.home import Home
from cortex.settings import Settings
from neurons import ApprovalKey, DeferredStorage, Status
from tests.neurons.governance import Clock, Governed


class Agent:
    """An agent of a home, which proposes neurons."""

    def __init__(self, home) -> None:
        state = Home(home).state
        self.home = home
        self._audit = Audit(Home(home).audit, Settings().audit)
        self.governed = Governed(
            DeferredStorage(state),
            key=ApprovalKey.load_or_make(state),
            clock=Clock(time.time()),
            proposals={"max_pending": 10},
        )

    def waiting(self, name: str = "Crypto price", **changes):
        neuron = self.governed.waiting(name=name, **changes)
        self.governed.storage.flush()
        return neuron

    def status(self, neuron) -> Status:
        return self.governed.restarted().store.get(neuron.id).status

    def close(self) -> None:
        self.governed.storage.close()

    def record(self, kind: str, **facts) -> None:
        self._audit.record(kind, **facts)

    def keep_code(self, code: str) -> str:
        return self._audit.keep_code(code)
