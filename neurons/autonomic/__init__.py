"""The autonomic layer: runs the awake neurons, gives them signals, charges energy and passes on what they emit."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .autonomic import Autonomic as Autonomic
    from .autonomic_view import (
        LAYER_KEY as LAYER_KEY,
        Counts as Counts,
        LayerState as LayerState,
        NerveState as NerveState,
        NerveView as NerveView,
        Overview as Overview,
    )
    from .signal_queue import Drop as Drop
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "autonomic": ["Autonomic"],
            "autonomic_view": ["Counts", "LAYER_KEY", "LayerState", "NerveState", "NerveView", "Overview"],
            "signal_queue": ["Drop"],
        },
    )
