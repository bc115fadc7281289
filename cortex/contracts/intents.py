"""An intent: what the agent asks to run, as plain data that goes to the runtime and into the audit log."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sandbox import Tier

Language = Literal["typescript", "javascript"]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


class Trace(_Data):
    """The turn and call that an intent came from."""

    turn: str
    call: int
    """Its position among the calls of that turn, from 1."""


class RunCode(_Data):
    """The code to run, with its limits and tools."""

    purpose: str
    """The purpose of the code, in the model's words."""
    code: str
    language: Language = "typescript"
    """JavaScript is valid TypeScript, and runs as it is."""
    tier: Tier
    timeout: int
    """Milliseconds."""
    expected_output: str | None = Field(default=None, alias="expectedOutput")
    intent: str = ""
    """What the code is to do, for finding tools; empty when it needs only tools that it names."""
    tools: tuple[str, ...] = ()
    """Names of tools that it wants to be lent."""
    context: Any = Field(default_factory=dict, repr=False)
    """JSON that the code finds as `context`. It is stored only as a recording for quarantine, with secrets redacted."""
    max_memory_mb: int | None = None
    """A memory limit below that of the settings, if wanted."""


class RunCodeIntent(_Data):
    """The intent to run code, and where it came from."""

    type: Literal["RUN_CODE"] = "RUN_CODE"
    payload: RunCode
    trace: Trace | None = None
