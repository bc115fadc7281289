"""Runs agent code in single-use Deno processes that hold no authority."""

from typing import TYPE_CHECKING

from .late import late_names

if TYPE_CHECKING:
    from .changes import Change, Changes
    from .contracts import (
        ErrorType,
        ExecutionError,
        ExecutionOutcome,
        ExecutionRequest,
        LogEntry,
        Metrics,
    )
    from .declarations import typescript_of
    from .doctor import Diagnosis, examine
    from .errors import SandboxError, SandboxUnavailable, ToolError
    from .guard import Guard
    from .guard_patterns import Finding
    from .head_start import HeadStart
    from .jail import Layer, Wall
    from .locations import data_file
    from .network import DenyRule, Exchange, HostRule, NetworkPolicy, Recorder, Replay
    from .person import person_decides, time_is_up
    from .ports import CodeRuntime, HostTools, ReadyJson, ToolDeclaration
    from .runtime import DenoRuntime
    from .settings import SandboxSettings
    from .tiers import Tier
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
    "HeadStart",
    "HostRule",
    "HostTools",
    "Layer",
    "LogEntry",
    "Metrics",
    "NetworkPolicy",
    "ReadyJson",
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
    "time_is_up",
    "typescript_of",
]

__getattr__ = late_names(
    __name__,
    {
        "Change": "changes",
        "Changes": "changes",
        "CodeRuntime": "ports",
        "DenoRuntime": "runtime",
        "DenyRule": "network",
        "Diagnosis": "doctor",
        "ErrorType": "contracts",
        "Exchange": "network",
        "ExecutionError": "contracts",
        "ExecutionOutcome": "contracts",
        "ExecutionRequest": "contracts",
        "Finding": "guard_patterns",
        "Guard": "guard",
        "HeadStart": "head_start",
        "HostRule": "network",
        "HostTools": "ports",
        "Layer": "jail",
        "LogEntry": "contracts",
        "Metrics": "contracts",
        "NetworkPolicy": "network",
        "ReadyJson": "ports",
        "Recorder": "network",
        "Replay": "network",
        "SandboxError": "errors",
        "SandboxSettings": "settings",
        "SandboxUnavailable": "errors",
        "Tier": "tiers",
        "ToolDeclaration": "ports",
        "ToolError": "errors",
        "Wall": "jail",
        "Workspace": "workspace",
        "WorkspaceBusy": "workspace",
        "WorkspaceConflict": "workspace",
        "WorkspaceError": "workspace",
        "WorkspaceLimits": "workspace",
        "data_file": "locations",
        "examine": "doctor",
        "person_decides": "person",
        "time_is_up": "person",
        "typescript_of": "declarations",
    },
)
