"""The limits on what one run may do with files. Each has a test that fails when the limit has no effect."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from ..contracts import MIB

NotNegative = Annotated[int, Field(ge=0)]


class WorkspaceLimits(BaseModel):
    """Everything about a workspace that can be set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_file_bytes: NotNegative = 8 * MIB
    """Size of one file, read or written."""
    max_files: NotNegative = 1_000
    """Files and folders that a run may add, change or remove."""
    max_total_bytes: NotNegative = 16 * MIB
    """Everything that the run has written. The host keeps it in memory until the commit."""
    max_calls: NotNegative = 10_000
    max_entries: NotNegative = 10_000
    """Names in one listing of a folder."""
