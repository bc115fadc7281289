"""Runs agent code in single-use Deno processes that hold no authority."""

from .contracts import (
    ErrorType,
    ExecutionError,
    ExecutionOutcome,
    ExecutionRequest,
    LogEntry,
    Metrics,
    Tier,
)
from .errors import SandboxError, SandboxUnavailable, ToolError
from .ports import CodeRuntime, HostTools, ToolDeclaration
from .runtime import DenoRuntime
from .settings import SandboxSettings

__all__ = [
    "CodeRuntime",
    "DenoRuntime",
    "ErrorType",
    "ExecutionError",
    "ExecutionOutcome",
    "ExecutionRequest",
    "HostTools",
    "LogEntry",
    "Metrics",
    "SandboxError",
    "SandboxSettings",
    "SandboxUnavailable",
    "Tier",
    "ToolDeclaration",
    "ToolError",
]
