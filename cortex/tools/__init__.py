"""Tools: Python functions that the model, or its code in the sandbox, may call, each under the owner's policy."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .arguments import (
        LIMITS as LIMITS,
        MAX_ARGUMENT_CHARACTERS as MAX_ARGUMENT_CHARACTERS,
        invalid as invalid,
        object_of as object_of,
    )
    from .calls import Calls as Calls, OnCall as OnCall
    from .consent import Allowed as Allowed, Consent as Consent, Permission as Permission, Refused as Refused
    from .core_arguments import arguments_for as arguments_for
    from .definitions import (
        CORE_TOOLS as CORE_TOOLS,
        CoreTool as CoreTool,
        ToolDefinition as ToolDefinition,
        core_definitions as core_definitions,
    )
    from .execute_code_arguments import NAME as NAME, code_arguments as code_arguments
    from .fitting import fitted as fitted
    from .lent import LentTools as LentTools
    from .names import (
        MAX_NAME_LENGTH as MAX_NAME_LENGTH,
        WireNames as WireNames,
        is_core as is_core,
        wire_name as wire_name,
    )
    from .openai import Api as Api, openai_tools as openai_tools
    from .owner import (
        AbsentOwner as AbsentOwner,
        Decision as Decision,
        Origin as Origin,
        Owner as Owner,
        Question as Question,
        ScriptedOwner as ScriptedOwner,
        describe as describe,
    )
    from .policy import policies_for_nobody as policies_for_nobody, policy_of as policy_of
    from .results import cut as cut
    from .tool import Tool as Tool
    from .toolbox import Toolbox as Toolbox
    from .usable import UsableTool as UsableTool
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "arguments": ["LIMITS", "MAX_ARGUMENT_CHARACTERS", "invalid", "object_of"],
            "calls": ["Calls", "OnCall"],
            "consent": ["Allowed", "Consent", "Permission", "Refused"],
            "core_arguments": ["arguments_for"],
            "definitions": ["CORE_TOOLS", "CoreTool", "ToolDefinition", "core_definitions"],
            "execute_code_arguments": ["NAME", "code_arguments"],
            "fitting": ["fitted"],
            "lent": ["LentTools"],
            "names": ["MAX_NAME_LENGTH", "WireNames", "is_core", "wire_name"],
            "openai": ["Api", "openai_tools"],
            "owner": ["AbsentOwner", "Decision", "Origin", "Owner", "Question", "ScriptedOwner", "describe"],
            "policy": ["policies_for_nobody", "policy_of"],
            "results": ["cut"],
            "tool": ["Tool"],
            "toolbox": ["Toolbox"],
            "usable": ["UsableTool"],
        },
    )
