"""The shared types of the sandbox: requests, outcomes, errors, frames. Imports no other folder of the sandbox."""

from .lazy_doors import lazy_door

# Not imported from `typing`, which takes 15 ms: `cortex kill` imports this package and must be fast.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from .changes import Change, ChangedFile, Changes
    from .displays import (
        MAX_PIXELS,
        Displayed,
        display_note,
        displayed,
        picture_size,
        picture_type,
        shown_picture,
        table_text,
    )
    from .errors import MalformedFrame, NothingMayRun, RunFault, SandboxError, SandboxUnavailable, ToolError
    from .frames import (
        PROTOCOL,
        Abort,
        Answered,
        Call,
        CutResult,
        Debug,
        DisplayCall,
        Failed,
        Failure,
        Fetch,
        FileCall,
        FrameReader,
        GuestFrame,
        NoValue,
        Output,
        Ready,
        ResidentTerms,
        Result,
        RunTerms,
        StoreCall,
        ToolCall,
        Varied,
        decode,
        encode,
        rehearse_frame,
        reside_frame,
        run_frame,
        signals_frame,
        tool_error_frame,
        tool_result_frame,
        weight_of,
    )
    from .json_meter import JsonLimits, JsonMeter, TooComplex, bounded_json, check_json, says_outside_strings
    from .lines import Line, LineSplitter
    from .outcomes import (
        CallCount,
        ErrorType,
        ExecutionError,
        ExecutionOutcome,
        ExecutionRequest,
        LogEntry,
        Metrics,
        mistake_in,
        refused,
    )
    from .process_memory import MIB, ProcessStatus, cpu_s, private_bytes
    from .residents import RESULT, BatchAnswer, ResidentProgram, SignalAnswer, Work
    from .threads import to_the_end
    from .tiers import Tier
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "changes": "Change ChangedFile Changes",
            "errors": "MalformedFrame NothingMayRun RunFault SandboxError SandboxUnavailable ToolError",
            "frames": (
                "Abort Answered Call CutResult Debug DisplayCall Failed Failure Fetch FileCall FrameReader "
                "GuestFrame NoValue Output PROTOCOL Ready ResidentTerms Result RunTerms StoreCall ToolCall Varied "
                "decode encode rehearse_frame reside_frame run_frame signals_frame tool_error_frame "
                "tool_result_frame weight_of"
            ),
            "json_meter": "JsonLimits JsonMeter TooComplex bounded_json check_json says_outside_strings",
            "lines": "Line LineSplitter",
            "outcomes": (
                "CallCount ErrorType ExecutionError ExecutionOutcome ExecutionRequest LogEntry Metrics mistake_in "
                "refused"
            ),
            "process_memory": "MIB ProcessStatus cpu_s private_bytes",
            "residents": "BatchAnswer RESULT ResidentProgram SignalAnswer Work",
            "threads": "to_the_end",
            "tiers": "Tier",
            "displays": (
                "Displayed MAX_PIXELS display_note displayed picture_size picture_type shown_picture table_text"
            ),
        },
    )
