"""Which process gets a processor first. The command that kills goes before everything else, and so does what it has
killed: a process cannot end without a processor, and all of them may be busy.

Works for who may do that, which is root as a rule; for others everything stays as it is. Nothing here raises, and
nothing is imported that takes long.
"""

from __future__ import annotations

import os
from contextlib import suppress

_HIGHEST_NICE = -20


def go_first() -> None:
    """Let this process run before all others."""
    if not _set_realtime(0):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, _HIGHEST_NICE)


def go_like_others() -> None:
    """What `go_first` did is over."""
    with suppress(OSError, AttributeError):
        if os.sched_getscheduler(0) == os.SCHED_RR:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        elif os.getpriority(os.PRIO_PROCESS, 0) == _HIGHEST_NICE:
            os.setpriority(os.PRIO_PROCESS, 0, 0)


def let_die_first(pid: int) -> None:
    """For a process that was killed, and never for another: what it runs now is its end, in all its threads."""
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            if not _set_realtime(int(thread)):
                return


def _set_realtime(pid: int) -> bool:
    # Not by `nice`: where each session has its own share of the processors, that counts within the session only.
    try:
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))
    except (OSError, AttributeError):
        return False
    return True
