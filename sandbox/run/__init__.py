"""Runs one execution: pool of warm workers, exchange of frames, bridge to the tools of the caller, timeout clock."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .bridge import Bridge
    from .determinism import may_vary
    from .diagnostics import diagnose
    from .exchange import Answer, Heard, Run, RunExchange, run_fault
    from .grants import GrantRefused, Grants
    from .memory_room import available_bytes, has_room, surely_has_room
    from .pool import Pool
    from .run_clock import RunClock, person_decides, time_is_up
    from .worker import Worker
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "bridge": "Bridge",
            "determinism": "may_vary",
            "diagnostics": "diagnose",
            "exchange": "Answer RunExchange Heard Run run_fault",
            "grants": "GrantRefused Grants",
            "memory_room": "available_bytes has_room surely_has_room",
            "pool": "Pool",
            "run_clock": "RunClock person_decides time_is_up",
            "worker": "Worker",
        },
    )
