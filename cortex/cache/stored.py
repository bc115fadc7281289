"""Serialize a cached result for the disk. A file that is not exactly what was written is rejected by its digest."""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from sandbox import ExecutionOutcome, LogEntry, Metrics, says_outside_strings

MAX_BYTES = 262_144
"""At most this much for one result with its logs; a larger result is not cached."""
_DIGEST_BYTES = hashlib.sha256().digest_size


class Stored(NamedTuple):
    at: float
    body: bytes


def body_of(outcome: ExecutionOutcome) -> bytes | None:
    """The result as JSON; None if it is too large, or if JSON cannot represent it."""
    if sum(len(entry.text) for entry in outcome.logs) > MAX_BYTES:
        return None
    metrics = outcome.metrics
    logs = [(entry.level, entry.text) for entry in outcome.logs]
    try:
        body = to_json([outcome.result, logs, metrics.level, metrics.layers])
    except (ValueError, RecursionError):
        return None
    # Written as JavaScript writes them, and no JSON: `JSON.parse` in the sandbox would refuse the result.
    if len(body) > MAX_BYTES or says_outside_strings(body, b"NaN", b"Infinity"):
        return None
    return body


def outcome_of(body: bytes) -> ExecutionOutcome | None:
    """The result in a body; None if the body is not a valid one."""
    try:
        parts: Any = from_json(body, allow_inf_nan=False)
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
    """The bytes of the file, with a digest over them and the key: a truncated or renamed file is not taken for a
    result."""
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
