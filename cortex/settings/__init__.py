"""Settings: what the owner can configure, read from files, the environment and the command line."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .home_path import find_home
    from .mcp_servers import (
        ALIKE,
        SERVER_NAME,
        SSE,
        McpServerSettings,
        McpServerTable,
        MissingVariable,
        alike,
        as_our_references,
        defaults_in,
        expanded,
        has_reference,
    )
    from .sections import (
        AuditSettings,
        CacheSettings,
        ConsoleSettings,
        DiscoverySettings,
        EnergySettings,
        ExecuteSettings,
        InboxSettings,
        LoopSettings,
        McpSettings,
        ModelSettings,
        Policy,
        RedactedKind,
        RedactionSettings,
        RunsSettings,
        Share,
        StoreSettings,
        TelemetrySettings,
        ToolSettings,
        WorkflowSettings,
    )
    from .setting_errors import SettingsError
    from .setting_keys import HIDDEN, Explained, nearest, shown
    from .settings import DEFAULT, Settings, explain_settings, load_settings
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "home_path": "find_home",
            "mcp_servers": (
                "ALIKE McpServerSettings McpServerTable MissingVariable SERVER_NAME SSE alike as_our_references "
                "defaults_in expanded has_reference"
            ),
            "sections": (
                "AuditSettings CacheSettings ConsoleSettings DiscoverySettings EnergySettings ExecuteSettings "
                "InboxSettings LoopSettings McpSettings ModelSettings Policy RedactedKind RedactionSettings "
                "RunsSettings Share StoreSettings TelemetrySettings ToolSettings WorkflowSettings"
            ),
            "setting_errors": "SettingsError",
            "setting_keys": "Explained HIDDEN nearest shown",
            "settings": "DEFAULT Settings explain_settings load_settings",
        },
    )
