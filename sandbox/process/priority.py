"""Raises the CPU priority of the kill command and of the processes it has killed: a killed process needs CPU time to
exit, and all CPUs may be busy.

Works only with the privilege to do so, as a rule root; otherwise nothing changes. Nothing here raises an exception, and
nothing slow is imported. A module of its own because `cortex kill` loads it before everything else of the sandbox.
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
    """Undo `go_first`."""
    with suppress(OSError, AttributeError):
        if os.sched_getscheduler(0) == os.SCHED_RR:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        elif os.getpriority(os.PRIO_PROCESS, 0) == _HIGHEST_NICE:
            os.setpriority(os.PRIO_PROCESS, 0, 0)


def let_die_first(pid: int) -> None:
    """Raise the priority of a killed process, in all its threads, so that it ends soon. Never call it for any other
    process."""
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            if not _set_realtime(int(thread)):
                return


def _set_realtime(pid: int) -> bool:
    # Not by `nice`: where each session has its own share of the processors (autogroup), nice counts within it only.
    try:
        os.sched_setscheduler(pid, os.SCHED_RR, os.sched_param(1))
    except (OSError, AttributeError):
        return False
    return True
