"""One turn of an agent: answers calls of `core.execute` and the other core tools."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .cancelling_runtime import CancellingRuntime
    from .code_answer import CodeAnswer, answer_without_result
    from .consolidate_tool import ConsolidateTool
    from .displays import MAX_TEXT_BYTES
    from .execution import Caller, RunCount, Services, execute, require_acting
    from .habit_watch import HabitWatch, Observer
    from .turn import Turn
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "cancelling_runtime": ["CancellingRuntime"],
            "code_answer": ["CodeAnswer", "answer_without_result"],
            "consolidate_tool": ["ConsolidateTool"],
            "displays": ["MAX_TEXT_BYTES"],
            "execution": ["Caller", "RunCount", "Services", "execute", "require_acting"],
            "habit_watch": ["HabitWatch", "Observer"],
            "turn": ["Turn"],
        },
    )
