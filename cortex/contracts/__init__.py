"""The shared types of the cortex: intents, events, and the reply strings that a model reads."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .events import (
        ExecutionEnded as ExecutionEnded,
        ExecutionStarted as ExecutionStarted,
        Proposed as Proposed,
        Refused as Refused,
        Remembered as Remembered,
        Said as Said,
        ToolCalled as ToolCalled,
        TurnEvent as TurnEvent,
        Watch as Watch,
    )
    from .intents import RunCode as RunCode, RunCodeIntent as RunCodeIntent, Trace as Trace
    from .replies import (
        blocked as blocked,
        denied as denied,
        failed as failed,
        reply as reply,
        reply_code as reply_code,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "events": [
                "ExecutionEnded",
                "ExecutionStarted",
                "Proposed",
                "Refused",
                "Remembered",
                "Said",
                "ToolCalled",
                "TurnEvent",
                "Watch",
            ],
            "intents": ["RunCode", "RunCodeIntent", "Trace"],
            "replies": ["blocked", "denied", "failed", "reply", "reply_code"],
        },
    )
