"""Tools: Python functions that a model, or its code in the sandbox, may call, each under the owner's policy."""

from .arguments import LIMITS, MAX_ARGUMENT_CHARACTERS
from .calls import Calls
from .code_arguments import code_arguments
from .consent import Allowed, Consent, Permission, Refused
from .core_arguments import arguments_for
from .definitions import CORE_TOOLS, CoreTool, ToolDefinition, core_definitions
from .lent import LentTools
from .names import WireNames, is_core, wire_name
from .openai import openai_tools
from .policy import policies_for_nobody, policy_of
from .results import cut
from .tool import Tool
from .toolbox import Toolbox
from .usable import UsableTool

__all__ = [
    "CORE_TOOLS",
    "LIMITS",
    "MAX_ARGUMENT_CHARACTERS",
    "Allowed",
    "Calls",
    "Consent",
    "CoreTool",
    "LentTools",
    "Permission",
    "Refused",
    "Tool",
    "ToolDefinition",
    "Toolbox",
    "UsableTool",
    "WireNames",
    "arguments_for",
    "code_arguments",
    "core_definitions",
    "cut",
    "is_core",
    "openai_tools",
    "policies_for_nobody",
    "policy_of",
    "wire_name",
]
