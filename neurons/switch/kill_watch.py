"""Looks at the kill switch again and again, for a process that has an event loop."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import anyio

from .kill_switch import On

if TYPE_CHECKING:
    from .kill_switch import KillSwitch

log = logging.getLogger("motor_cortex")


async def watch_switch(
    switch: KillSwitch,
    poll_ms: int,
    on_kill: Callable[[On], None],
    on_revive: Callable[[], None] = lambda: None,
    *,
    neurons: Callable[[], Iterable[str]] = lambda: (),
    on_neuron: Callable[[str, On], None] = lambda *_: None,
) -> None:
    """Until it is cancelled. `on_kill` is called when the switch is found on, first of all now, and `on_revive` when it
    is found off again; `on_neuron` for each of `neurons` that was killed alone, as long as it is one of them.

    They return soon and wait for nothing. What one raises is logged, and it is called again with the next look.
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
            log.exception("What the kill switch asks for could not be done")
        await anyio.sleep(poll_ms / 1000)
