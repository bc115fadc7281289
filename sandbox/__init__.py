"""Runs agent code in single-use Deno processes that hold no permissions."""

from .contracts.lazy_doors import lazy_door as lazy_door

# Not imported from `typing`, which takes 15 ms: `cortex kill` imports this package and must be fast.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from .contracts.changes import Change as Change, ChangedFile as ChangedFile, Changes as Changes
    from .contracts.displays import (
        Displayed as Displayed,
        display_note as display_note,
        picture_type as picture_type,
        shown_picture as shown_picture,
        table_text as table_text,
    )
    from .contracts.errors import (
        SandboxError as SandboxError,
        SandboxUnavailable as SandboxUnavailable,
        ToolError as ToolError,
    )
    from .contracts.json_meter import (
        JsonLimits as JsonLimits,
        JsonMeter as JsonMeter,
        TooComplex as TooComplex,
        bounded_json as bounded_json,
        check_json as check_json,
        says_outside_strings as says_outside_strings,
    )
    from .contracts.lines import LineSplitter as LineSplitter
    from .contracts.outcomes import (
        CallCount as CallCount,
        ErrorType as ErrorType,
        ExecutionError as ExecutionError,
        ExecutionOutcome as ExecutionOutcome,
        ExecutionRequest as ExecutionRequest,
        LogEntry as LogEntry,
        Metrics as Metrics,
    )
    from .contracts.residents import (
        RESULT as RESULT,
        BatchAnswer as BatchAnswer,
        ResidentProgram as ResidentProgram,
        SignalAnswer as SignalAnswer,
        Work as Work,
    )
    from .contracts.tiers import Tier as Tier
    from .disk.damaged_files import copy_aside as copy_aside, move_aside as move_aside
    from .disk.data_files import data_file as data_file
    from .disk.durable import (
        LOCK_TIMEOUT_S as LOCK_TIMEOUT_S,
        FileLock as FileLock,
        Flusher as Flusher,
        LockBusy as LockBusy,
    )
    from .disk.line_file import (
        HeldLines as HeldLines,
        LineFile as LineFile,
        append_lines as append_lines,
        append_whole as append_whole,
        end_of_file as end_of_file,
        first_lines as first_lines,
        open_lines as open_lines,
    )
    from .disk.whole_files import (
        FILE_MODE as FILE_MODE,
        FOLDER_MODE as FOLDER_MODE,
        flush_file as flush_file,
        flush_folder as flush_folder,
        private_folder as private_folder,
        read_private as read_private,
        replace_file as replace_file,
        sweep_unfinished as sweep_unfinished,
    )
    from .doctor import Diagnosis as Diagnosis, examine as examine
    from .guard.guard import CodeReader as CodeReader, Guard as Guard
    from .guard.patterns import Finding as Finding
    from .jail.layers import Layer as Layer, Wall as Wall
    from .network.policy import DenyRule as DenyRule, HostRule as HostRule, NetworkPolicy as NetworkPolicy
    from .network.recording import (
        Exchange as Exchange,
        FetchNote as FetchNote,
        Recorder as Recorder,
        Replay as Replay,
        ReplayedRun as ReplayedRun,
    )
    from .ports.ports import (
        CodeRuntime as CodeRuntime,
        HostTools as HostTools,
        Places as Places,
        ReadyJson as ReadyJson,
        RefusingRuntime as RefusingRuntime,
        Resident as Resident,
        ResidentHost as ResidentHost,
        StoppableRuntime as StoppableRuntime,
        Store as Store,
        ToolDeclaration as ToolDeclaration,
        WalledRuntime as WalledRuntime,
    )
    from .ports.settings import SandboxSettings as SandboxSettings
    from .process.early_start import HeadStart as HeadStart
    from .process.killing import KillReport as KillReport, kill_recorded as kill_recorded, stop_hosts as stop_hosts
    from .process.priority import go_first as go_first, go_like_others as go_like_others
    from .process.process_facts import identity_of as identity_of
    from .process.process_notes import Running as Running
    from .process.svg import NotRendered as NotRendered, render_svg as render_svg
    from .run.determinism import may_vary as may_vary
    from .run.run_clock import person_decides as person_decides, time_is_up as time_is_up
    from .runtime import DenoRuntime as DenoRuntime
    from .tool_types.declarations import typescript_of as typescript_of
    from .tool_types.schema_check import (
        TooMuchToCheck as TooMuchToCheck,
        schema_problem as schema_problem,
        usable_schema as usable_schema,
    )
    from .tool_types.schema_parts import BadSchema as BadSchema
    from .tool_types.tool_names import place_of_tools as place_of_tools
    from .workspace.terms import (
        WorkspaceBusy as WorkspaceBusy,
        WorkspaceConflict as WorkspaceConflict,
        WorkspaceError as WorkspaceError,
        WorkspaceLimits as WorkspaceLimits,
    )
    from .workspace.transaction import Workspace as Workspace
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "contracts.changes": "Change ChangedFile Changes",
            "contracts.errors": "SandboxError SandboxUnavailable ToolError",
            "contracts.json_meter": "JsonLimits JsonMeter TooComplex bounded_json check_json says_outside_strings",
            "contracts.lines": "LineSplitter",
            "contracts.outcomes": (
                "CallCount ErrorType ExecutionError ExecutionOutcome ExecutionRequest LogEntry Metrics"
            ),
            "contracts.residents": "BatchAnswer RESULT ResidentProgram SignalAnswer Work",
            "contracts.tiers": "Tier",
            "disk.damaged_files": "copy_aside move_aside",
            "disk.data_files": "data_file",
            "disk.durable": "FileLock Flusher LOCK_TIMEOUT_S LockBusy",
            "disk.line_file": "HeldLines LineFile append_lines append_whole end_of_file first_lines open_lines",
            "disk.whole_files": (
                "FILE_MODE FOLDER_MODE flush_file flush_folder private_folder read_private replace_file "
                "sweep_unfinished"
            ),
            "doctor": "Diagnosis examine",
            "guard.guard": "CodeReader Guard",
            "guard.patterns": "Finding",
            "jail.layers": "Layer Wall",
            "network.policy": "DenyRule HostRule NetworkPolicy",
            "network.recording": "Exchange FetchNote Recorder Replay ReplayedRun",
            "ports.ports": (
                "CodeRuntime HostTools Places ReadyJson RefusingRuntime Resident ResidentHost StoppableRuntime "
                "Store ToolDeclaration WalledRuntime"
            ),
            "ports.settings": "SandboxSettings",
            "process.early_start": "HeadStart",
            "process.killing": "KillReport kill_recorded stop_hosts",
            "process.priority": "go_first go_like_others",
            "process.process_facts": "identity_of",
            "process.process_notes": "Running",
            "run.determinism": "may_vary",
            "run.run_clock": "person_decides time_is_up",
            "runtime": "DenoRuntime",
            "tool_types.declarations": "typescript_of",
            "tool_types.schema_check": "TooMuchToCheck schema_problem usable_schema",
            "tool_types.schema_parts": "BadSchema",
            "tool_types.tool_names": "place_of_tools",
            "workspace.terms": "WorkspaceBusy WorkspaceConflict WorkspaceError WorkspaceLimits",
            "workspace.transaction": "Workspace",
            "contracts.displays": "Displayed display_note picture_type shown_picture table_text",
            "process.svg": "NotRendered render_svg",
        },
    )
