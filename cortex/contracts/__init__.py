"""The shared types of the cortex: intents, events, and the replies that a model reads."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .events import (
        CoreToolCalled,
        CortexEvent,
        ExecutionCutShort,
        ExecutionEnded,
        ExecutionStarted,
        FilesChanged,
        Listener,
        OwnerAnswered,
        Proposed,
        Recorded,
        Refused,
        Remembered,
        Said,
        ToolCalled,
        TurnEvent,
        Watch,
        WorkflowStepped,
        weight_of_event,
        weight_of_value,
    )
    from .intents import RunCode, RunCodeIntent, Trace
    from .origins import AskedBy, asked_as, asked_by, owner_waits
    from .replies import (
        Blocked,
        Denied,
        Reason,
        Refusal,
        blocked,
        calls_told,
        denied,
        failed,
        headline,
        noted,
        reason_of,
        reason_of_fault,
        reply,
        reply_code,
        said_in,
        where_told,
    )
    from .tracing import Came, Spanned, TracedCall, Tracing
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "origins": "AskedBy asked_as asked_by owner_waits",
            "events": (
                "CoreToolCalled CortexEvent ExecutionCutShort ExecutionEnded ExecutionStarted FilesChanged Listener "
                "OwnerAnswered Proposed Recorded Refused Remembered Said ToolCalled TurnEvent Watch WorkflowStepped "
                "weight_of_event weight_of_value"
            ),
            "intents": "RunCode RunCodeIntent Trace",
            "replies": (
                "Blocked Denied Reason Refusal blocked calls_told denied failed headline noted reason_of "
                "reason_of_fault reply reply_code said_in where_told"
            ),
            "tracing": "Came Spanned TracedCall Tracing",
        },
    )
