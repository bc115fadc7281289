"""Runs the code of a run again on what it was answered: no network, no tools, no energy; and asks what if."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .answers import RecordedAnswers
    from .comparing import Difference, differences
    from .replay import Replayable, ReplayRefused, ReplayResult, replayable_in, replayable_of, replayed
    from .what_if import AS_IT_WAS, Judged, WhatIf
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "answers": "RecordedAnswers",
            "comparing": "Difference differences",
            "replay": "ReplayRefused ReplayResult Replayable replayable_in replayable_of replayed",
            "what_if": "AS_IT_WAS Judged WhatIf",
        },
    )
