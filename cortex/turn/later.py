"""The port of jobs, as a turn sees them: what to start now and look at later.

A module of its own because the room of the jobs is to the right of turns, and a turn names only this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from cortex.catalogue import Wish
    from cortex.contracts import RunCodeIntent
    from sandbox import Displayed

    from .execution import Caller, Executed, Services


@dataclass(frozen=True, slots=True)
class Begun:
    """A job has begun: its energy is taken, and its record is kept."""

    handle: str
    reply: str
    level: float
    is_awaited: bool
    """Its end starts a turn, so the model need not go on before."""


@dataclass(frozen=True, slots=True)
class JobLook:
    """What there is to tell of a job."""

    text: str
    ok: bool
    displayed: tuple[Displayed, ...] = ()
    """What it displayed, once it has ended."""


class Later(Protocol):
    """Runs jobs. `cortex.jobs.Jobs` is one."""

    async def begin(self, intent: RunCodeIntent, wish: Wish, services: Services, caller: Caller) -> Begun | Executed:
        """Start a job; or say why not. Raises what `execute` raises."""
        ...

    async def look(self, handle: str, conversation: str | None, *, cancel: bool = False) -> JobLook:
        """How a job of this conversation stands. Runs nothing; `cancel` stops it first."""
        ...
