"""The story that `cortex demo` tells: what is said is scripted, and what is done is done."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .asking import Asker as Asker
    from .page import Page as Page
    from .scenario import Scene as Scene, SceneTurn as SceneTurn, load_scenes as load_scenes
    from .story import tell as tell
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "asking": ["Asker"],
            "page": ["Page"],
            "scenario": ["Scene", "SceneTurn", "load_scenes"],
            "story": ["tell"],
        },
    )
