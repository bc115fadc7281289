"""Runs one execution: the pool of warm workers, the exchange of frames, the bridge to lent tools, the clock."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .bridge import Bridge as Bridge
    from .determinism import may_vary as may_vary
    from .diagnostics import diagnose as diagnose
    from .exchange import (
        Answer as Answer,
        Conversation as Conversation,
        Heard as Heard,
        Run as Run,
        run_fault as run_fault,
    )
    from .grants import GrantRefused as GrantRefused, Grants as Grants
    from .memory_room import (
        available_bytes as available_bytes,
        has_room as has_room,
        surely_has_room as surely_has_room,
    )
    from .pool import Pool as Pool
    from .run_clock import RunClock as RunClock, person_decides as person_decides, time_is_up as time_is_up
    from .worker import Worker as Worker
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "bridge": ["Bridge"],
            "determinism": ["may_vary"],
            "diagnostics": ["diagnose"],
            "exchange": ["Answer", "Conversation", "Heard", "Run", "run_fault"],
            "grants": ["GrantRefused", "Grants"],
            "memory_room": ["available_bytes", "has_room", "surely_has_room"],
            "pool": ["Pool"],
            "run_clock": ["RunClock", "person_decides", "time_is_up"],
            "worker": ["Worker"],
        },
    )
