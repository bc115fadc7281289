"""Settings: what the owner may set, read from files, environment and command line."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .home_path import find_home as find_home
    from .mcp_servers import (
        ALIKE as ALIKE,
        SERVER_NAME as SERVER_NAME,
        SSE as SSE,
        McpServerSettings as McpServerSettings,
        McpServerTable as McpServerTable,
        MissingVariable as MissingVariable,
        alike as alike,
        as_our_references as as_our_references,
        defaults_in as defaults_in,
        expanded as expanded,
        has_reference as has_reference,
    )
    from .sections import (
        AuditSettings as AuditSettings,
        CacheSettings as CacheSettings,
        DiscoverySettings as DiscoverySettings,
        EnergySettings as EnergySettings,
        ExecuteSettings as ExecuteSettings,
        LoopSettings as LoopSettings,
        McpSettings as McpSettings,
        ModelSettings as ModelSettings,
        Policy as Policy,
        RedactedKind as RedactedKind,
        RedactionSettings as RedactionSettings,
        Share as Share,
        ToolSettings as ToolSettings,
    )
    from .setting_errors import SettingsError as SettingsError
    from .setting_keys import HIDDEN as HIDDEN, Explained as Explained, nearest as nearest, shown as shown
    from .settings import (
        DEFAULT as DEFAULT,
        Settings as Settings,
        explain_settings as explain_settings,
        load_settings as load_settings,
    )
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "home_path": ["find_home"],
            "mcp_servers": [
                "ALIKE",
                "McpServerSettings",
                "McpServerTable",
                "MissingVariable",
                "SERVER_NAME",
                "SSE",
                "alike",
                "as_our_references",
                "defaults_in",
                "expanded",
                "has_reference",
            ],
            "sections": [
                "AuditSettings",
                "CacheSettings",
                "DiscoverySettings",
                "EnergySettings",
                "ExecuteSettings",
                "LoopSettings",
                "McpSettings",
                "ModelSettings",
                "Policy",
                "RedactedKind",
                "RedactionSettings",
                "Share",
                "ToolSettings",
            ],
            "setting_errors": ["SettingsError"],
            "setting_keys": ["Explained", "HIDDEN", "nearest", "shown"],
            "settings": ["DEFAULT", "Settings", "explain_settings", "load_settings"],
        },
    )
