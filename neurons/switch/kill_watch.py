"""The interface (port) of the kill switch, and a task that polls the switch.

A module of its own because `cortex kill` must not wait for the import of an event loop.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Protocol

import anyio

from .kill_switch import On

if TYPE_CHECKING:
    from pathlib import Path

    from .kill_switch import Killed, State

log = logging.getLogger("motor_cortex")


class Switch(Protocol):
    """The port of the kill switch. A switch that cannot be read counts as on."""

    @property
    def running(self) -> Path:
        """The folder of this machine in which running processes are recorded: see `sandbox.Running`."""
        ...

    def state(self, neuron: str | None = None) -> State:
        """The state of the switch for everything, or also for one neuron. Never raises."""
        ...

    def refusal(self, neuron: str | None = None) -> str | None:
        """The reason why nothing, or this neuron, may run; None while it may."""
        ...

    def turn_on(self, reason: str, by: str, *, neuron: str | None = None) -> Killed:
        """Stop everything now, or one neuron. Never raises for a fault of the system: `problems` has what failed."""
        ...

    def turn_off(self, reason: str, by: str, *, neuron: str | None = None) -> State:
        """Turn the switch off and return its previous state. Raises Refused without a reason, and SwitchError when the
        switch stays on."""
        ...


async def watch_switch(
    switch: Switch,
    poll_ms: int,
    on_kill: Callable[[On], None],
    on_revive: Callable[[], None] = lambda: None,
    *,
    neurons: Callable[[], Iterable[str]] = lambda: (),
    on_neuron: Callable[[str, On], None] = lambda *_: None,
) -> None:
    """Poll the switch every `poll_ms` until cancelled. Call `on_kill` when the switch is found on, including at the
    first look, and `on_revive` when it is found off again. While it is off, call `on_neuron` at every look for each id
    from `neurons` that was killed alone.

    The callbacks must return soon and not block. If one raises, the error is logged and it is called again at the next
    look.
    """
    is_known_on = False
    while True:
        found = switch.state()
        try:
            if isinstance(found, On) and not is_known_on:
                on_kill(found)
            elif is_known_on and not isinstance(found, On):
                on_revive()
            is_known_on = isinstance(found, On)
            for neuron in () if is_known_on else tuple(neurons()):
                alone = switch.state(neuron)
                if isinstance(alone, On):
                    on_neuron(neuron, alone)
        except Exception:
            log.exception("Cannot do what the kill switch asks for; it is tried again")
        await anyio.sleep(poll_ms / 1000)
