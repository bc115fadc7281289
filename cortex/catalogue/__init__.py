"""Find the tools of the toolbox and of MCP servers, and choose the tools that a run may call."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .absent_tool import AbsentTool
    from .workbench import Wish, Workbench
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "absent_tool": "AbsentTool",
            "workbench": "Wish Workbench",
        },
    )
