"""The kill switch: a file that stops every process of a home."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .kill_switch import Killed, KillSwitch, Off, On, SwitchError
    from .kill_watch import Switch, watch_switch
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "kill_switch": "KillSwitch Killed Off On SwitchError",
            "kill_watch": "Switch watch_switch",
        },
    )
