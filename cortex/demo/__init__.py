"""The story that `cortex demo` tells: what is said is scripted, and what is done is done."""

from .asking import Asker
from .scenario import Scene, SceneTurn, load_scenes
from .story import tell

__all__ = ["Asker", "Scene", "SceneTurn", "load_scenes", "tell"]
