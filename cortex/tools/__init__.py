"""Tools: Python functions that the model, or its code in the sandbox, may call, each under the owner's policy."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .arguments import ARGUMENT_LIMITS, MAX_ARGUMENT_CHARACTERS, invalid, object_of
    from .calls import Calls, LentTools, OnCall, UsableTool
    from .collected import numbers_in
    from .consent import Allowed, Consent, NotAllowed, Permission
    from .core_arguments import EXECUTE_CODE, arguments_for, code_arguments
    from .definitions import CORE_TOOLS, Api, CoreTool, ToolDefinition, core_definitions, openai_tools
    from .fitting import fitted
    from .names import MAX_NAME_LENGTH, WireNames, is_core, wire_name
    from .owner import (
        COMMIT,
        DECISION,
        PLAN,
        AbsentOwner,
        Decision,
        Origin,
        Owner,
        PatientOwner,
        Question,
        ScriptedOwner,
        as_one,
        can_be_asked,
        describe,
        is_absent,
    )
    from .pictures import Picture, pictures_of
    from .policy import LEARNED, learned_policy, policies_without_tool, policy_of
    from .tool import Tool, cut
    from .toolbox import Toolbox
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "arguments": "ARGUMENT_LIMITS MAX_ARGUMENT_CHARACTERS invalid object_of",
            "calls": "Calls LentTools OnCall UsableTool",
            "collected": "numbers_in",
            "consent": "Allowed Consent NotAllowed Permission",
            "core_arguments": "EXECUTE_CODE arguments_for code_arguments",
            "definitions": "Api CORE_TOOLS CoreTool ToolDefinition core_definitions openai_tools",
            "fitting": "fitted",
            "names": "MAX_NAME_LENGTH WireNames is_core wire_name",
            "owner": (
                "AbsentOwner COMMIT DECISION Decision Origin Owner PLAN PatientOwner Question ScriptedOwner "
                "as_one can_be_asked describe is_absent"
            ),
            "policy": "LEARNED learned_policy policies_without_tool policy_of",
            "tool": "Tool cut",
            "toolbox": "Toolbox",
            "pictures": "Picture pictures_of",
        },
    )
