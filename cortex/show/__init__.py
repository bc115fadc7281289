"""Show the events of a turn: as text for people, and as JSON for programs."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .highlight import highlighted
    from .json_events import as_json
    from .layer_view import Layer, Nerve, layer_lines, layer_of
    from .parts import gauge, marks_for
    from .show import Show
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "highlight": "highlighted",
            "json_events": "as_json",
            "layer_view": "Layer Nerve layer_lines layer_of",
            "parts": "gauge marks_for",
            "show": "Show",
        },
    )
