"""The home: the folder in which an agent keeps its state, and what it remembers."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .home import Home as Home, HomeError as HomeError, problem_of as problem_of
    from .json_lines import append_line as append_line, last_lines as last_lines
    from .memory import LearnedSkills as LearnedSkills, Memory as Memory
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "home": ["Home", "HomeError", "problem_of"],
            "json_lines": ["append_line", "last_lines"],
            "memory": ["LearnedSkills", "Memory"],
        },
    )
