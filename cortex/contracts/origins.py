"""Where a call comes from, as far as the caller knows. It travels with the task, not through the arguments."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class AskedBy:
    """Where a call comes from. Plain words for the owner's record; nothing is decided from them."""

    origin: str = "program"
    """`program`: host code; `loop`: a model in the loop of this package; `mcp:<name>`: a client of the MCP server, in
    its own words."""
    call_id: str | None = None
    """The model's own id of the call."""
    trace_id: str | None = None
    """The trace of a telemetry system, 32 hexadecimal digits."""


owner_waits: ContextVar[list[float] | None] = ContextVar("motor_cortex_owner_waits", default=None)
"""Set by the watcher of the present call of a tool: how many milliseconds each question to the owner took."""
_PROGRAM = AskedBy()
asked_by: ContextVar[AskedBy] = ContextVar("motor_cortex_asked_by", default=_PROGRAM)


@contextmanager
def asked_as(origin: str) -> Iterator[None]:
    """Calls in the block come from there."""
    before = asked_by.set(replace(asked_by.get(), origin=origin))
    try:
        yield
    finally:
        asked_by.reset(before)
