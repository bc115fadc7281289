"""Polls the kill switch, for a process that has an event loop.

A module of its own because `cortex kill` must not wait for the import of an event loop.
"""

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
