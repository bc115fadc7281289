"""The home: the folder in which an agent keeps its state and its memory."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .files import HomeFiles
    from .home import Home, HomeError, problem_of
    from .memory import LearnedSkills, Memory
    from .ports import HomePorts, Lines
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "files": "HomeFiles",
            "home": "Home HomeError problem_of",
            "memory": "LearnedSkills Memory",
            "ports": "HomePorts Lines",
        },
    )
