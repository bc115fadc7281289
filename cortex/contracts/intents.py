"""What the agent means to do, as data: it travels from the tool to the runtime and into the audit."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sandbox import Tier

Language = Literal["typescript", "javascript"]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


class Trace(_Data):
    """Where an intent came from."""

    turn: str
    call: int
    """Its place among the calls of that turn, from 1."""


class RunCode(_Data):
    purpose: str
    """What the code is for, in the model's words."""
    code: str
    language: Language = "typescript"
    """TypeScript takes JavaScript as it is."""
    tier: Tier
    timeout: int
    """Milliseconds."""
    expected_output: str | None = Field(default=None, alias="expectedOutput")
    intent: str = ""
    """What the code is to do, to find tools by; empty when it wants none but those that it names."""
    tools: tuple[str, ...] = ()
    """Tools that it wants to be lent, by name."""
    context: Any = Field(default_factory=dict, repr=False)
    """JSON that the code finds as `context`. It is written down for a
    quarantine only, without secrets."""
    max_memory_mb: int | None = None
    """Less than the settings allow, if somebody wants less."""


class RunCodeIntent(_Data):
    type: Literal["RUN_CODE"] = "RUN_CODE"
    payload: RunCode
    trace: Trace | None = None
