"""Learned functions for tests, as the pipeline would leave them."""

from __future__ import annotations

from typing import Any

from neurons import Neuron
from tests.neurons.candidates import candidate

COMPOUND = "return Math.round(args.p * (1 + args.r) ** args.n * 100) / 100"
NUMBER = {"type": "number"}


def schema(*, optional: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    """The schema of an object with these properties."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


P_R_N = schema(p=NUMBER, r=NUMBER, n=NUMBER)


def function(code: str = COMPOUND, parameters: dict[str, Any] | None = None, **changes: Any) -> Neuron:
    given = {"kind": "function", "input_signals": (), "output_signals": (), "name": "CompoundInterest"}
    return candidate(code, **{**given, "parameters": P_R_N if parameters is None else parameters, **changes})
