"""The shared types of the cortex: intents, events, and the reply strings that a model reads."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .events import (
        CoreToolCalled as CoreToolCalled,
        CortexEvent as CortexEvent,
        ExecutionCutShort as ExecutionCutShort,
        ExecutionEnded as ExecutionEnded,
        ExecutionStarted as ExecutionStarted,
        Listener as Listener,
        OwnerAnswered as OwnerAnswered,
        Proposed as Proposed,
        Recorded as Recorded,
        Refused as Refused,
        Remembered as Remembered,
        Said as Said,
        ToolCalled as ToolCalled,
        TurnEvent as TurnEvent,
        Watch as Watch,
    )
    from .intents import RunCode as RunCode, RunCodeIntent as RunCodeIntent, Trace as Trace
    from .replies import (
        Blocked as Blocked,
        Denied as Denied,
        Reason as Reason,
        Refusal as Refusal,
        blocked as blocked,
        denied as denied,
        failed as failed,
        reason_of as reason_of,
        reason_of_fault as reason_of_fault,
        reply as reply,
        reply_code as reply_code,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "events": [
                "CoreToolCalled",
                "CortexEvent",
                "ExecutionCutShort",
                "ExecutionEnded",
                "ExecutionStarted",
                "Listener",
                "OwnerAnswered",
                "Proposed",
                "Recorded",
                "Refused",
                "Remembered",
                "Said",
                "ToolCalled",
                "TurnEvent",
                "Watch",
            ],
            "intents": ["RunCode", "RunCodeIntent", "Trace"],
            "replies": [
                "Blocked",
                "Denied",
                "Reason",
                "Refusal",
                "blocked",
                "denied",
                "failed",
                "reason_of",
                "reason_of_fault",
                "reply",
                "reply_code",
            ],
        },
    )
