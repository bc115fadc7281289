"""The sandbox's ports: the protocols between it and its caller, and its settings."""

from typing import TYPE_CHECKING

from ..contracts.lazy_doors import lazy_door

if TYPE_CHECKING:
    from .ports import (
        CodeRuntime,
        HostTools,
        Places,
        ReadyJson,
        RefusingRuntime,
        Resident,
        ResidentHost,
        StoppableRuntime,
        Store,
        ToolDeclaration,
        WalledRuntime,
    )
    from .settings import SandboxSettings
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "ports": (
                "CodeRuntime HostTools Places ReadyJson RefusingRuntime Resident ResidentHost StoppableRuntime "
                "Store ToolDeclaration WalledRuntime"
            ),
            "settings": "SandboxSettings",
        },
    )
