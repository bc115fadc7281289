"""The scenes of `cortex demo`. What the user and the model say is scripted; everything else is real."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .lesson import Asker
    from .page import Page
    from .story import Scene, SceneTurn, load_scenes, tell
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "lesson": "Asker",
            "page": "Page",
            "story": "Scene SceneTurn load_scenes tell",
        },
    )
