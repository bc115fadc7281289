"""The cache key of a result: a hash of everything that the result depends on, and of nothing else."""

from __future__ import annotations

import hashlib

from pydantic_core import to_json

from sandbox import ExecutionRequest, SandboxSettings

FORMAT = 1
# Left out: a cached result is right for a shorter timeout too, and every cached run was deterministic.
_LEFT_OUT = frozenset({"timeout_ms", "deterministic"})
# All other fields of the request, also fields that are added later.
_ASKED = tuple(name for name in ExecutionRequest.model_fields if name not in _LEFT_OUT)
# Limits that can change a result: code can catch that memory runs out, and a result that is refused or cut under the
# limits of today must not come from a run under others.
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
    """The key, 64 hexadecimal digits. Raises ValueError for a request that cannot be written as JSON.

    The keys of objects are not sorted: code sees their order.
    """
    asked = [getattr(request, name) for name in _ASKED]
    try:
        text = to_json([FORMAT, runtime_version, tools_version, limits, asked], inf_nan_mode="null")
    except RecursionError as error:
        raise ValueError(str(error)) from error
    return hashlib.sha256(text).hexdigest()
