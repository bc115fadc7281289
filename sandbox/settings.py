"""The limits of the sandbox. Each has a test that fails when it is unwired."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from .memory import MIB

KIB = 1024

Positive = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]


class SandboxSettings(BaseModel):
    """Everything about the sandbox that can be set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    deno_path: Path | None = None
    """The Deno binary; None takes the one of the `deno` wheel, or else the one on PATH."""

    pool_size: NotNegative = 8
    """Processes kept waiting. 0 starts one for each execution."""
    max_worker_age_s: Positive = 600
    """A process that has waited this long is replaced."""
    start_timeout_ms: Positive = 10_000

    max_concurrent: Positive = 16
    max_queued: NotNegative = 1_000
    queue_timeout_ms: Positive = 30_000
    """How long an execution waits for its turn before it is refused."""

    default_timeout_ms: Positive = 30_000
    max_timeout_ms: Positive = 300_000
    """A longer request is cut to this."""
    max_heap_mb: Annotated[int, Field(ge=16)] = 512
    """JavaScript objects (V8's own limit)."""
    max_memory_mb: Annotated[int, Field(ge=16)] = 512
    """Everything: the heap, ArrayBuffers, WebAssembly memory and what native code takes."""

    max_code_bytes: Positive = 50 * KIB
    max_context_bytes: Positive = 16 * MIB
    max_result_bytes: Positive = 32 * KIB
    max_output_bytes: Positive = 1 * MIB
    max_frame_bytes: Annotated[int, Field(ge=64 * KIB)] = 2 * MIB
    """One line from the process."""

    max_tool_calls: NotNegative = 250
    tool_timeout_ms: Positive = 30_000
    max_tool_result_bytes: Positive = 8 * MIB

    max_starting: Positive = Field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    """Processes being started at the same time. A start is all CPU: many more than the cores only get in each other's
    way."""
