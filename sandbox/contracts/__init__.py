"""The shared types of the sandbox: requests, outcomes, errors, frames. Imports no other folder of the sandbox."""

from .lazy_doors import lazy_door

# Not imported from `typing`, which takes 15 ms: `cortex kill` comes through this door and goes first.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from .changes import Change as Change, Changes as Changes
    from .errors import (
        MalformedFrame as MalformedFrame,
        NothingMayRun as NothingMayRun,
        RunFault as RunFault,
        SandboxError as SandboxError,
        SandboxUnavailable as SandboxUnavailable,
        ToolError as ToolError,
    )
    from .frames import (
        PROTOCOL as PROTOCOL,
        Abort as Abort,
        Answered as Answered,
        Call as Call,
        CutResult as CutResult,
        Debug as Debug,
        Failed as Failed,
        Failure as Failure,
        Fetch as Fetch,
        FileCall as FileCall,
        FrameReader as FrameReader,
        GuestFrame as GuestFrame,
        Output as Output,
        Ready as Ready,
        ResidentTerms as ResidentTerms,
        Result as Result,
        RunTerms as RunTerms,
        ToolCall as ToolCall,
        Varied as Varied,
        decode as decode,
        encode as encode,
        rehearse_frame as rehearse_frame,
        reside_frame as reside_frame,
        run_frame as run_frame,
        signals_frame as signals_frame,
        tool_error_frame as tool_error_frame,
        tool_result_frame as tool_result_frame,
        weight_of as weight_of,
    )
    from .json_meter import (
        JsonLimits as JsonLimits,
        JsonMeter as JsonMeter,
        TooComplex as TooComplex,
        bounded_json as bounded_json,
        check_json as check_json,
        says_outside_strings as says_outside_strings,
    )
    from .lines import Line as Line, LineSplitter as LineSplitter
    from .outcomes import (
        ErrorType as ErrorType,
        ExecutionError as ExecutionError,
        ExecutionOutcome as ExecutionOutcome,
        ExecutionRequest as ExecutionRequest,
        LogEntry as LogEntry,
        Metrics as Metrics,
        mistake_in as mistake_in,
        refused as refused,
    )
    from .process_memory import (
        MIB as MIB,
        ProcessStatus as ProcessStatus,
        cpu_s as cpu_s,
        private_bytes as private_bytes,
    )
    from .residents import (
        BatchAnswer as BatchAnswer,
        ResidentProgram as ResidentProgram,
        SignalAnswer as SignalAnswer,
        Work as Work,
    )
    from .threads import to_the_end as to_the_end
    from .tiers import Tier as Tier
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "changes": ["Change", "Changes"],
            "errors": [
                "MalformedFrame",
                "NothingMayRun",
                "RunFault",
                "SandboxError",
                "SandboxUnavailable",
                "ToolError",
            ],
            "frames": [
                "Abort",
                "Answered",
                "Call",
                "CutResult",
                "Debug",
                "Failed",
                "Failure",
                "Fetch",
                "FileCall",
                "FrameReader",
                "GuestFrame",
                "Output",
                "PROTOCOL",
                "Ready",
                "ResidentTerms",
                "Result",
                "RunTerms",
                "ToolCall",
                "Varied",
                "decode",
                "encode",
                "rehearse_frame",
                "reside_frame",
                "run_frame",
                "signals_frame",
                "tool_error_frame",
                "tool_result_frame",
                "weight_of",
            ],
            "json_meter": [
                "JsonLimits",
                "JsonMeter",
                "TooComplex",
                "bounded_json",
                "check_json",
                "says_outside_strings",
            ],
            "lines": ["Line", "LineSplitter"],
            "outcomes": [
                "ErrorType",
                "ExecutionError",
                "ExecutionOutcome",
                "ExecutionRequest",
                "LogEntry",
                "Metrics",
                "mistake_in",
                "refused",
            ],
            "process_memory": ["MIB", "ProcessStatus", "cpu_s", "private_bytes"],
            "residents": ["BatchAnswer", "ResidentProgram", "SignalAnswer", "Work"],
            "threads": ["to_the_end"],
            "tiers": ["Tier"],
        },
    )
