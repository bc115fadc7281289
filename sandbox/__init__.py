"""Runs agent code in single-use Deno processes that hold no authority."""

from typing import TYPE_CHECKING

from .late import late_names

if TYPE_CHECKING:
    from .changes import Change, Changes
    from .code_reader import CodeReader
    from .contracts import (
        ErrorType,
        ExecutionError,
        ExecutionOutcome,
        ExecutionRequest,
        LogEntry,
        Metrics,
    )
    from .declarations import typescript_of
    from .determinism import may_vary
    from .doctor import Diagnosis, examine
    from .durable import LOCK_TIMEOUT_S, FileLock, Flusher, LockBusy
    from .errors import SandboxError, SandboxUnavailable, ToolError
    from .guard import Guard
    from .guard_patterns import Finding
    from .head_start import HeadStart
    from .jail import Layer, Wall
    from .json_meter import JsonLimits, JsonMeter, TooComplex, bounded_json, check_json, says_outside_strings
    from .killing import KillReport, kill_recorded, stop_hosts
    from .locations import data_file
    from .network import DenyRule, Exchange, HostRule, NetworkPolicy, Recorder, Replay
    from .person import person_decides, time_is_up
    from .ports import CodeRuntime, HostTools, ReadyJson, Resident, ResidentHost, ToolDeclaration
    from .priority import go_first, go_like_others
    from .resident_contracts import BatchAnswer, ResidentProgram, SignalAnswer, Work
    from .running import Running
    from .runtime import DenoRuntime
    from .schema_check import TooMuchToCheck, schema_problem, usable_schema
    from .schema_parts import BadSchema
    from .settings import SandboxSettings
    from .tiers import Tier
    from .tool_names import place_of_tools
    from .whole_files import (
        FILE_MODE,
        FOLDER_MODE,
        flush_file,
        flush_folder,
        private_folder,
        replace_file,
        sweep_unfinished,
    )
    from .workspace import Workspace, WorkspaceBusy, WorkspaceConflict, WorkspaceError, WorkspaceLimits

__all__ = [  # noqa: RUF022 - as `sorted` sorts, constants among the rest
    "BadSchema",
    "BatchAnswer",
    "Change",
    "Changes",
    "CodeReader",
    "CodeRuntime",
    "DenoRuntime",
    "DenyRule",
    "Diagnosis",
    "ErrorType",
    "Exchange",
    "ExecutionError",
    "ExecutionOutcome",
    "ExecutionRequest",
    "FILE_MODE",
    "FOLDER_MODE",
    "FileLock",
    "Finding",
    "Flusher",
    "Guard",
    "HeadStart",
    "HostRule",
    "HostTools",
    "JsonLimits",
    "JsonMeter",
    "KillReport",
    "LOCK_TIMEOUT_S",
    "Layer",
    "LockBusy",
    "LogEntry",
    "Metrics",
    "NetworkPolicy",
    "ReadyJson",
    "Recorder",
    "Replay",
    "Resident",
    "ResidentHost",
    "ResidentProgram",
    "Running",
    "SandboxError",
    "SandboxSettings",
    "SandboxUnavailable",
    "SignalAnswer",
    "Tier",
    "TooComplex",
    "TooMuchToCheck",
    "ToolDeclaration",
    "ToolError",
    "Wall",
    "Work",
    "Workspace",
    "WorkspaceBusy",
    "WorkspaceConflict",
    "WorkspaceError",
    "WorkspaceLimits",
    "bounded_json",
    "check_json",
    "data_file",
    "examine",
    "flush_file",
    "flush_folder",
    "go_first",
    "go_like_others",
    "kill_recorded",
    "late_names",
    "may_vary",
    "person_decides",
    "place_of_tools",
    "private_folder",
    "replace_file",
    "says_outside_strings",
    "schema_problem",
    "stop_hosts",
    "sweep_unfinished",
    "time_is_up",
    "typescript_of",
    "usable_schema",
]

__getattr__ = late_names(
    __name__,
    {
        "BadSchema": "schema_parts",
        "BatchAnswer": "resident_contracts",
        "Change": "changes",
        "Changes": "changes",
        "CodeReader": "code_reader",
        "CodeRuntime": "ports",
        "DenoRuntime": "runtime",
        "DenyRule": "network",
        "Diagnosis": "doctor",
        "ErrorType": "contracts",
        "Exchange": "network",
        "ExecutionError": "contracts",
        "ExecutionOutcome": "contracts",
        "ExecutionRequest": "contracts",
        "FILE_MODE": "whole_files",
        "FOLDER_MODE": "whole_files",
        "FileLock": "durable",
        "Finding": "guard_patterns",
        "Flusher": "durable",
        "Guard": "guard",
        "HeadStart": "head_start",
        "HostRule": "network",
        "HostTools": "ports",
        "JsonLimits": "json_meter",
        "JsonMeter": "json_meter",
        "KillReport": "killing",
        "LOCK_TIMEOUT_S": "durable",
        "Layer": "jail",
        "LockBusy": "durable",
        "LogEntry": "contracts",
        "Metrics": "contracts",
        "NetworkPolicy": "network",
        "ReadyJson": "ports",
        "Recorder": "network",
        "Replay": "network",
        "Resident": "ports",
        "ResidentHost": "ports",
        "ResidentProgram": "resident_contracts",
        "Running": "running",
        "SandboxError": "errors",
        "SandboxSettings": "settings",
        "SandboxUnavailable": "errors",
        "SignalAnswer": "resident_contracts",
        "Tier": "tiers",
        "TooComplex": "json_meter",
        "TooMuchToCheck": "schema_check",
        "ToolDeclaration": "ports",
        "ToolError": "errors",
        "Wall": "jail",
        "Work": "resident_contracts",
        "Workspace": "workspace",
        "WorkspaceBusy": "workspace",
        "WorkspaceConflict": "workspace",
        "WorkspaceError": "workspace",
        "WorkspaceLimits": "workspace",
        "bounded_json": "json_meter",
        "check_json": "json_meter",
        "data_file": "locations",
        "examine": "doctor",
        "flush_file": "whole_files",
        "flush_folder": "whole_files",
        "go_first": "priority",
        "go_like_others": "priority",
        "kill_recorded": "killing",
        "may_vary": "determinism",
        "person_decides": "person",
        "place_of_tools": "tool_names",
        "private_folder": "whole_files",
        "replace_file": "whole_files",
        "says_outside_strings": "json_meter",
        "schema_problem": "schema_check",
        "stop_hosts": "killing",
        "sweep_unfinished": "whole_files",
        "time_is_up": "person",
        "typescript_of": "declarations",
        "usable_schema": "schema_check",
    },
)
