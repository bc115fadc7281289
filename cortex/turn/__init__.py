"""One turn of an agent: answers calls of `core.execute` and the other core tools."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .acting import require_acting as require_acting
    from .code_answer import refused_answer as refused_answer
    from .consolidate_tool import ConsolidateTool as ConsolidateTool
    from .execute_tool import ExecuteTool as ExecuteTool
    from .habit_watch import HabitWatch as HabitWatch, Observer as Observer
    from .services import Parts as Parts
    from .turn import Turn as Turn
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "acting": ["require_acting"],
            "code_answer": ["refused_answer"],
            "consolidate_tool": ["ConsolidateTool"],
            "execute_tool": ["ExecuteTool"],
            "habit_watch": ["HabitWatch", "Observer"],
            "services": ["Parts"],
            "turn": ["Turn"],
        },
    )
