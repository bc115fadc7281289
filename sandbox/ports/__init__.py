"""The sandbox's ports: the protocols between it and its caller, and its settings."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .ports import (
        CodeRuntime as CodeRuntime,
        HostTools as HostTools,
        ReadyJson as ReadyJson,
        Resident as Resident,
        ResidentHost as ResidentHost,
        ToolDeclaration as ToolDeclaration,
    )
    from .settings import SandboxSettings as SandboxSettings
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "ports": ["CodeRuntime", "HostTools", "ReadyJson", "Resident", "ResidentHost", "ToolDeclaration"],
            "settings": ["SandboxSettings"],
        },
    )
