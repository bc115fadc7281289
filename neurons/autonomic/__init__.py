"""The autonomic layer: runs the awake neurons, gives them signals, charges energy and delivers what they emit."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .activity import STEP_S, ActivityLog, ActivityStep, activity_of
    from .autonomic import Autonomic
    from .autonomic_view import LAYER_KEY, Counts, LayerState, NerveState, NerveView, Overview
    from .energy_account import EnergyAccount
    from .nerve import identity
    from .signal_queue import Drop
    from .tally import with_one_more
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "activity": "ActivityLog ActivityStep STEP_S activity_of",
            "autonomic": "Autonomic",
            "autonomic_view": "Counts LAYER_KEY LayerState NerveState NerveView Overview",
            "tally": "with_one_more",
            "energy_account": "EnergyAccount",
            "nerve": "identity",
            "signal_queue": "Drop",
        },
    )
