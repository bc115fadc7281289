"""Show the events of a turn: as text for people, as JSON for programs, and pictures as files."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .gallery import Gallery, inline
    from .highlight import highlighted
    from .json_events import as_json
    from .layer_view import Layer, Nerve, layer_lines, layer_of
    from .parts import gauge, marks_for
    from .show import Show
    from .usage import HomeUse, gates, of_habits
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "gallery": "Gallery inline",
            "highlight": "highlighted",
            "json_events": "as_json",
            "layer_view": "Layer Nerve layer_lines layer_of",
            "parts": "gauge marks_for",
            "show": "Show",
            "usage": "HomeUse gates of_habits",
        },
    )
