"""Under which name a result is kept: all that it can depend on, and nothing else."""

from __future__ import annotations

import hashlib

from pydantic_core import to_json

from sandbox import ExecutionRequest, SandboxSettings

FORMAT = 1
# A result that came in time is as right for who would have waited less; and each run that is kept was a fixed one.
_LEFT_OUT = frozenset({"timeout_ms", "deterministic"})
# All others, also those that are added one day.
_ASKED = tuple(name for name in ExecutionRequest.model_fields if name not in _LEFT_OUT)
# Code meets these: it can catch that memory ends, and what is refused or cut now must not come from another time.
_LIMITS = (
    "max_heap_mb",
    "max_memory_mb",
    "max_code_bytes",
    "max_context_bytes",
    "max_result_bytes",
    "max_output_bytes",
    "max_frame_bytes",
)


def limits_of(settings: SandboxSettings) -> tuple[int, ...]:
    return tuple(getattr(settings, name) for name in _LIMITS)


def cache_key(
    request: ExecutionRequest, *, runtime_version: str, limits: tuple[int, ...], tools_version: str = ""
) -> str:
    """64 hexadecimal digits. Raises ValueError for a request that cannot be written as JSON.

    The keys of objects are not sorted: code sees their order.
    """
    asked = [getattr(request, name) for name in _ASKED]
    try:
        text = to_json([FORMAT, runtime_version, tools_version, limits, asked], inf_nan_mode="null")
    except RecursionError as error:
        raise ValueError(str(error)) from error
    return hashlib.sha256(text).hexdigest()
