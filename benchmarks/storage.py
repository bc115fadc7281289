"""Benchmark of storage: read and check a thousand neurons on disk."""

from __future__ import annotations

import time
from typing import Any

from neurons import DeferredStorage, NeuronStore

from .measure import Report, Row, folder_on_disk, p50

NEURONS = 1_000
CODE = "const answer = await fetch(`https://prices.example/v1/btc?at=${signal.time}`);\n" * 20
SCENARIOS = ("typical", "edges", "burst", "recorded")
HASH = "0123456789abcdef" * 4


async def storage(rounds: int, report: Report) -> None:
    """Measure what `cortex neurons list` waits for, against a limit of a fifth of a second."""
    with folder_on_disk() as home:
        kept = DeferredStorage(home)
        for number in range(NEURONS):
            kept.write(f"neurons/neuron-{number}", document(number))
        kept.flush()
        listing, one = [], []
        for _ in range(max(8, rounds // 3)):
            start = time.perf_counter()
            found = NeuronStore(DeferredStorage(home)).load_all()
            listing.append((time.perf_counter() - start) * 1000)
            assert len(found) == NEURONS
        store = NeuronStore(kept)
        for number in range(max(8, rounds)):
            start = time.perf_counter()
            store.change(f"neuron-{number}", lambda neuron: neuron.model_copy(update={"reason": "changed"}))
            one.append((time.perf_counter() - start) * 1000)
    report(Row(f"{NEURONS:,} neurons listed", p50(listing), 200, "ms", 1.0, "limit"))
    report(Row("a neuron changed, durably", p50(one), 50, "ms", 1.0, "limit"))


def document(number: int) -> dict[str, Any]:
    """The document of a neuron after its trial: 6 KB."""
    policy = {"tier": "network", "hosts": ["prices.example"], "inputSignals": ["tick"], "energyBudget": 0.02}
    return {
        "format": 1,
        "id": f"neuron-{number}",
        "name": f"CryptoPrice {number}",
        "code": CODE,
        **policy,
        "metadata": {"createdAt": "2026-01-01T00:00:00Z", "codeHash": HASH, "purpose": "Watch a price"},
        "status": "active",
        "state": {"last": 97_500, "seen": list(range(20))},
        "report": {
            "at": 1.0,
            "codeHash": HASH,
            "policyHash": HASH,
            "scenarios": [{"name": name, "signals": 3, "ok": True} for name in SCENARIOS],
        },
        "versions": [
            {
                "version": 1,
                "code": CODE,
                "codeHash": HASH,
                "policy": policy,
                "policyHash": HASH,
                "createdAt": "2026-01-01T00:00:00Z",
            }
        ],
        "history": [
            {
                "at": at,
                "before": "trial",
                "after": "active",
                "event": "x",
                "by": "owner",
                "version": 1,
                "codeHash": HASH,
            }
            for at in range(4)
        ],
    }
