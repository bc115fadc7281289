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
from .declarations import typescript_of
from .doctor import Diagnosis, examine
from .errors import SandboxError, SandboxUnavailable, ToolError
from .guard import Guard
from .guard_patterns import Finding
from .locations import data_file
from .ports import CodeRuntime, HostTools, ToolDeclaration
from .runtime import DenoRuntime
from .settings import SandboxSettings

__all__ = [
    "CodeRuntime",
    "DenoRuntime",
    "Diagnosis",
    "ErrorType",
    "ExecutionError",
    "ExecutionOutcome",
    "ExecutionRequest",
    "Finding",
    "Guard",
    "HostTools",
    "LogEntry",
    "Metrics",
    "SandboxError",
    "SandboxSettings",
    "SandboxUnavailable",
    "Tier",
    "ToolDeclaration",
    "ToolError",
    "data_file",
    "examine",
    "typescript_of",
]
