"""One turn of an agent: answers the model's calls of `core.execute`, the other core tools and the host's own tools."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .cancelling_runtime import CancellingRuntime
    from .code_answer import CodeAnswer, answer_without_result
    from .consolidate_tool import ConsolidateTool
    from .displays import MAX_TEXT_BYTES, display_lines, shown_displays
    from .execution import (
        Caller,
        Executed,
        HostFailed,
        NotRun,
        Ran,
        RunCount,
        Services,
        execute,
        intent_of,
        reply_of,
        require_acting,
    )
    from .files import Commit, Folder, Keep, commit_changes, facts_of_changes
    from .habit_watch import HabitWatch, Observer
    from .kept_state import takes_store
    from .later import Begun, JobLook, Later
    from .notes import Due, Notes
    from .plans import WORKFLOW_QUESTION, Answering, Plans
    from .turn import Turn, owner_answered, redacted_apart
    from .watched_files import needs_eyes, own_files
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "cancelling_runtime": "CancellingRuntime",
            "code_answer": "CodeAnswer answer_without_result",
            "consolidate_tool": "ConsolidateTool",
            "execution": (
                "Caller Executed HostFailed NotRun Ran RunCount Services execute intent_of reply_of require_acting"
            ),
            "files": "Commit Folder Keep commit_changes facts_of_changes",
            "habit_watch": "HabitWatch Observer",
            "kept_state": "takes_store",
            "later": "Begun JobLook Later",
            "notes": "Due Notes",
            "plans": "Answering Plans WORKFLOW_QUESTION",
            "turn": "Turn owner_answered redacted_apart",
            "watched_files": "needs_eyes own_files",
            "displays": "MAX_TEXT_BYTES display_lines shown_displays",
        },
    )
