"""Runs agent code in single-use Deno processes that hold no authority."""

from .changes import Change, Changes
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
from .jail import Layer, Wall
from .locations import data_file
from .network import DenyRule, Exchange, HostRule, NetworkPolicy, Recorder, Replay
from .person import person_decides
from .ports import CodeRuntime, HostTools, ToolDeclaration
from .runtime import DenoRuntime
from .settings import SandboxSettings
from .workspace import Workspace, WorkspaceBusy, WorkspaceConflict, WorkspaceError, WorkspaceLimits

__all__ = [
    "Change",
    "Changes",
    "CodeRuntime",
    "DenoRuntime",
    "DenyRule",
    "Diagnosis",
    "ErrorType",
    "Exchange",
    "ExecutionError",
    "ExecutionOutcome",
    "ExecutionRequest",
    "Finding",
    "Guard",
    "HostRule",
    "HostTools",
    "Layer",
    "LogEntry",
    "Metrics",
    "NetworkPolicy",
    "Recorder",
    "Replay",
    "SandboxError",
    "SandboxSettings",
    "SandboxUnavailable",
    "Tier",
    "ToolDeclaration",
    "ToolError",
    "Wall",
    "Workspace",
    "WorkspaceBusy",
    "WorkspaceConflict",
    "WorkspaceError",
    "WorkspaceLimits",
    "data_file",
    "examine",
    "person_decides",
    "typescript_of",
]
