"""One turn of an agent: answers calls of `core.execute` and the other core tools."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .cancelling_runtime import CancellingRuntime as CancellingRuntime
    from .code_answer import CodeAnswer as CodeAnswer, answer_without_result as answer_without_result
    from .consolidate_tool import ConsolidateTool as ConsolidateTool
    from .execution import (
        Caller as Caller,
        RunCount as RunCount,
        Services as Services,
        execute as execute,
        require_acting as require_acting,
    )
    from .habit_watch import HabitWatch as HabitWatch, Observer as Observer
    from .turn import Turn as Turn
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "cancelling_runtime": ["CancellingRuntime"],
            "code_answer": ["CodeAnswer", "answer_without_result"],
            "consolidate_tool": ["ConsolidateTool"],
            "execution": ["Caller", "RunCount", "Services", "execute", "require_acting"],
            "habit_watch": ["HabitWatch", "Observer"],
            "turn": ["Turn"],
        },
    )
