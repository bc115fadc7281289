"""A result as bytes on disk. What is read back is distrusted: bytes that are not exactly what was written are no
result."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from sandbox import ExecutionOutcome, LogEntry, Metrics

MAX_BYTES = 262_144
"""Of one result with its logs; a larger one is not kept."""
_DIGEST_BYTES = hashlib.sha256().digest_size


class Stored(NamedTuple):
    at: float
    body: bytes


def body_of(outcome: ExecutionOutcome) -> bytes | None:
    """JSON; None for what is too large, or cannot be told apart from something else once it is JSON."""
    if sum(len(entry.text) for entry in outcome.logs) > MAX_BYTES:
        return None
    metrics = outcome.metrics
    logs = [(entry.level, entry.text) for entry in outcome.logs]
    try:
        body = to_json([outcome.result, logs, metrics.level, metrics.layers])
    except (ValueError, RecursionError):
        return None
    return body if len(body) <= MAX_BYTES else None


def outcome_of(body: bytes) -> ExecutionOutcome | None:
    """What the body tells, as nothing but a result; None if it is none."""
    try:
        parts: Any = from_json(body)
        result, logs, level, layers = parts
        entries = tuple(LogEntry(kind, text) for kind, text in logs)
        metrics = Metrics(cached=True, level=level, layers=tuple(layers))
    except (ValueError, TypeError, RecursionError):
        return None
    return ExecutionOutcome(
        ok=True,
        result=result,
        logs=entries,
        metrics=metrics,
        deterministic=True,
    )


def file_of(key: str, stored: Stored) -> bytes:
    """With a digest over all of it and the key: half a file, or one under another name, is not taken for a result."""
    rest = repr(stored.at).encode() + b"\n" + stored.body
    return _digest(key, rest) + rest


def stored_of(key: str, file: bytes) -> Stored | None:
    digest, rest = file[:_DIGEST_BYTES], file[_DIGEST_BYTES:]
    if digest != _digest(key, rest):
        return None
    at, _, body = rest.partition(b"\n")
    try:
        return Stored(float(at), body)
    except ValueError:
        return None


def _digest(key: str, rest: bytes) -> bytes:
    return hashlib.sha256(key.encode() + rest).digest()
