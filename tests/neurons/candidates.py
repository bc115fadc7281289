"""Candidates for a test, as `core.consolidate` would leave them in quarantine."""

from __future__ import annotations

import hashlib
from typing import Any

from neurons.contracts.neuron import Metadata, Neuron, Status
from neurons.contracts.ports import Recording, ToolExchange
from neurons.contracts.settings import NeuronSettings
from sandbox import Exchange

AT = 1_800_000_000.0


def candidate(code: str = "emit('seen', signal.data)", **changes: Any) -> Neuron:
    given: dict[str, Any] = {
        "id": "candidate",
        "name": "Candidate",
        "code": code,
        "input_signals": ("tick",),
        "output_signals": ("seen",),
        "energy_budget": 0.5,
        "metadata": Metadata(
            created_at="2027-01-15T08:00:00Z",
            code_hash=hashlib.sha256(code.encode()).hexdigest(),
            purpose="to be tried",
        ),
        "status": Status.QUARANTINE,
    }
    return Neuron.model_validate({**given, **changes})


def exchange(url: str, body: bytes = b'{"usd": 97500}', **changes: Any) -> Exchange:
    return Exchange.model_validate(
        {"method": "GET", "url": url, "status": 200, "headers": (("content-type", "application/json"),), "body": body}
        | changes
    )


def recording(
    context: Any = None, exchanges: tuple[Exchange, ...] = (), tool_calls: tuple[ToolExchange, ...] = (), at: float = AT
) -> Recording:
    return Recording("f" * 64, at, context, exchanges, tool_calls)


def settings(**sections: Any) -> NeuronSettings:
    return NeuronSettings.model_validate(sections)
