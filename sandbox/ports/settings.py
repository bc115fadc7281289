"""The settings of the sandbox. For each there is a test that fails when the setting has no effect."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from ..contracts import MIB
from ..jail import Layer
from ..network import NetworkPolicy
from ..workspace import WorkspaceLimits

KIB = 1024

Positive = Annotated[int, Field(gt=0)]
NotNegative = Annotated[int, Field(ge=0)]


def _split(value: Any) -> Any:
    """Split a string at commas: an environment variable cannot hold a list, only "landlock,seccomp"."""
    return [name.strip() for name in value.split(",") if name.strip()] if isinstance(value, str) else value


class SandboxSettings(BaseModel):
    """Everything about the sandbox that can be set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    deno_path: Path | None = None
    """The Deno binary; None takes the one of the `deno` wheel, or else the one on PATH."""

    require: Annotated[tuple[Layer, ...] | None, BeforeValidator(_split)] = None
    """The layers of the wall without which no code runs. None requires all that this machine supports; a list requires
    only its own layers, so that the others may be missing."""

    pool_size: NotNegative = 8
    """Number of warm processes. 0 starts a process for each execution."""
    max_worker_age_s: Positive = 600
    """A process that has waited this long is replaced."""
    start_timeout_ms: Positive = 10_000

    max_concurrent: Positive = 16
    max_queued: NotNegative = 1_000
    queue_timeout_ms: Positive = 30_000
    """How long an execution waits for its turn before it is refused."""

    default_timeout_ms: Positive = 30_000
    max_timeout_ms: Positive = 600_000
    """A longer requested timeout is cut to this."""
    max_heap_mb: Annotated[int, Field(ge=16)] = 512
    """Limit on JavaScript objects (V8's own limit)."""
    max_memory_mb: Annotated[int, Field(ge=16)] = 512
    """Limit on everything: the heap, ArrayBuffers, WebAssembly memory and native memory."""

    max_code_bytes: Positive = 50 * KIB
    max_context_bytes: Positive = 16 * MIB
    max_result_bytes: Positive = 32 * KIB
    max_output_bytes: Positive = 1 * MIB
    max_frame_bytes: Annotated[int, Field(ge=64 * KIB)] = 2 * MIB
    """Limit on one line from the process."""

    max_tool_calls: NotNegative = 250
    max_tool_calls_at_once: Positive = 32
    """Per run; further calls wait until one of these is answered."""
    tool_timeout_ms: Positive = 30_000
    max_tool_result_bytes: Positive = 8 * MIB

    max_displays: NotNegative = 20
    """How often one run may call `display`."""
    max_displayed_bytes: Positive = 4 * MIB
    """Limit on what one run displays, all together. One picture is also limited by `max_frame_bytes`."""

    network: NetworkPolicy = Field(default_factory=NetworkPolicy)
    """The policy of the network tier when the caller gives none. By default it allows nothing."""
    workspace: WorkspaceLimits = Field(default_factory=WorkspaceLimits)

    max_starting: Positive = Field(default_factory=lambda: 2 * (os.cpu_count() or 1))
    """At most this many processes start at the same time. A start is all CPU: many more than there are cores only slow
    each other down."""

    @property
    def max_cpu_s(self) -> int:
        """CPU time limit of a process. The host's timeout ends a run long before; this ends a process whose host no
        longer can."""
        return self.max_timeout_ms // 1000 * (os.cpu_count() or 1) + 60
