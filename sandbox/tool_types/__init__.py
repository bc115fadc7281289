"""Shows the caller's tools to the code: names, TypeScript declarations, and checks against a JSON Schema."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .declarations import typescript_of
    from .schema_check import TooMuchToCheck, schema_problem, usable_schema
    from .schema_parts import BadSchema
    from .tool_names import Lent, place, place_of_tools
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "declarations": "typescript_of",
            "schema_check": "TooMuchToCheck schema_problem usable_schema",
            "schema_parts": "BadSchema",
            "tool_names": "Lent place place_of_tools",
        },
    )
