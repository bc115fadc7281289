"""Learned functions: programs that code calls with arguments, kept in a process while they are used."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .calling import FunctionAnswer, call_function, result_problem
    from .functions import Functions
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "calling": "FunctionAnswer call_function result_problem",
            "functions": "Functions",
        },
    )
