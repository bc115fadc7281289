"""Tools: Python functions that the model, or its code in the sandbox, may call, each under the owner's policy."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .arguments import (
        ARGUMENT_LIMITS as ARGUMENT_LIMITS,
        MAX_ARGUMENT_CHARACTERS as MAX_ARGUMENT_CHARACTERS,
        invalid as invalid,
        object_of as object_of,
    )
    from .calls import Calls as Calls, LentTools as LentTools, OnCall as OnCall, UsableTool as UsableTool
    from .consent import Allowed as Allowed, Consent as Consent, NotAllowed as NotAllowed, Permission as Permission
    from .core_arguments import (
        EXECUTE_CODE as EXECUTE_CODE,
        arguments_for as arguments_for,
        code_arguments as code_arguments,
    )
    from .definitions import (
        CORE_TOOLS as CORE_TOOLS,
        Api as Api,
        CoreTool as CoreTool,
        ToolDefinition as ToolDefinition,
        core_definitions as core_definitions,
        openai_tools as openai_tools,
    )
    from .fitting import fitted as fitted
    from .names import (
        MAX_NAME_LENGTH as MAX_NAME_LENGTH,
        WireNames as WireNames,
        is_core as is_core,
        wire_name as wire_name,
    )
    from .owner import (
        AbsentOwner as AbsentOwner,
        Decision as Decision,
        Origin as Origin,
        Owner as Owner,
        Question as Question,
        ScriptedOwner as ScriptedOwner,
        describe as describe,
    )
    from .policy import policies_without_tool as policies_without_tool, policy_of as policy_of
    from .results import cut as cut
    from .tool import Tool as Tool
    from .toolbox import Toolbox as Toolbox
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "arguments": ["ARGUMENT_LIMITS", "MAX_ARGUMENT_CHARACTERS", "invalid", "object_of"],
            "calls": ["Calls", "LentTools", "OnCall", "UsableTool"],
            "consent": ["Allowed", "Consent", "NotAllowed", "Permission"],
            "core_arguments": ["EXECUTE_CODE", "arguments_for", "code_arguments"],
            "definitions": ["Api", "CORE_TOOLS", "CoreTool", "ToolDefinition", "core_definitions", "openai_tools"],
            "fitting": ["fitted"],
            "names": ["MAX_NAME_LENGTH", "WireNames", "is_core", "wire_name"],
            "owner": ["AbsentOwner", "Decision", "Origin", "Owner", "Question", "ScriptedOwner", "describe"],
            "policy": ["policies_without_tool", "policy_of"],
            "results": ["cut"],
            "tool": ["Tool"],
            "toolbox": ["Toolbox"],
        },
    )
