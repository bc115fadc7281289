"""Habits: scripts that the agent runs again and again, found by fingerprint, and recordings of their input."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .comparing import Comparing
    from .draft import Draft, DraftReader, Shape, drafted, name_of
    from .draft_schemas import RecordedRuns, recorded_runs
    from .fingerprint import Fingerprint
    from .fingerprint_reader import FingerprintReader
    from .habit import OFFER_S, Habit
    from .habits import Habits
    from .literals import LiteralReader, Place, ReadScript, with_holes
    from .offers import Offers
    from .recordings import Recordings
    from .similarity import Parameter, in_common, parts_of, sketched
    from .value_schemas import schema_of_value
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "comparing": "Comparing",
            "draft": "Draft DraftReader Shape drafted name_of",
            "draft_schemas": "RecordedRuns recorded_runs",
            "fingerprint": "Fingerprint",
            "fingerprint_reader": "FingerprintReader",
            "habit": "Habit OFFER_S",
            "habits": "Habits",
            "literals": "LiteralReader Place ReadScript with_holes",
            "offers": "Offers",
            "recordings": "Recordings",
            "similarity": "Parameter in_common parts_of sketched",
            "value_schemas": "schema_of_value",
        },
    )
