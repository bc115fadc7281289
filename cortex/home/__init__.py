"""The home: the folder in which an agent keeps its state, and what it remembers."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .files import HomeFiles as HomeFiles
    from .home import Home as Home, HomeError as HomeError, problem_of as problem_of
    from .memory import LearnedSkills as LearnedSkills, Memory as Memory
    from .ports import HomePorts as HomePorts, Lines as Lines
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "files": ["HomeFiles"],
            "home": ["Home", "HomeError", "problem_of"],
            "memory": ["LearnedSkills", "Memory"],
            "ports": ["HomePorts", "Lines"],
        },
    )
