"""Short phrases about an execution: its purpose, its limits, what it took, and what we wait for. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cortex.contracts import RunCodeIntent
    from cortex.loop import Waiting
    from sandbox import Metrics


def purpose(intent: RunCodeIntent) -> str:
    return " ".join(intent.payload.purpose.split()) or "run code"


def limits(intent: RunCodeIntent) -> str:
    return f"{intent.payload.tier}, at most {intent.payload.timeout} ms"


def took(metrics: Metrics) -> str:
    if metrics.cached:
        return "known from before, nothing ran"
    parts = [milliseconds(metrics.execution_ms)]
    if metrics.tool_calls:
        parts.append(f"{metrics.tool_calls} tool call{'' if metrics.tool_calls == 1 else 's'}")
    if metrics.fetches:
        size = f" ({metrics.fetched_bytes:,} bytes)" if metrics.fetched_bytes else ""
        parts.append(f"{metrics.fetches} fetch{'' if metrics.fetches == 1 else 'es'}{size}")
    return ", ".join(parts)


def milliseconds(duration: float) -> str:
    return f"{duration:.1f} ms" if duration < 1000 else f"{duration / 1000:.1f} s"


def waiting(event: Waiting, more: str) -> str:
    if not event.reason:
        return f"waiting for the model{more}"
    again = "" if event.again_in_s is None else f"; trying again in {event.again_in_s:.1f} s"
    return event.reason + again
