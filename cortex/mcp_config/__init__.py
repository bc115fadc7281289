"""The MCP servers that the owner names: in the settings, in a file of the home, in files of other programs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .file import MAX_FILE_BYTES, McpFile, Named, checked_servers, refuse_alike, servers_of
    from .imports import imported
    from .references import MissingVariable, expanded
    from .secrets import literal_secrets, shown_arguments, written_secrets
    from .servers import McpServerSettings, McpServerTable

# Imported when they are asked for: the settings come through this door, and need the servers alone.
_HOMES = {
    "MAX_FILE_BYTES": "file",
    "McpFile": "file",
    "McpServerSettings": "servers",
    "McpServerTable": "servers",
    "MissingVariable": "references",
    "Named": "file",
    "checked_servers": "file",
    "expanded": "references",
    "imported": "imports",
    "literal_secrets": "secrets",
    "refuse_alike": "file",
    "servers_of": "file",
    "shown_arguments": "secrets",
    "written_secrets": "secrets",
}

__all__ = [
    "MAX_FILE_BYTES",
    "McpFile",
    "McpServerSettings",
    "McpServerTable",
    "MissingVariable",
    "Named",
    "checked_servers",
    "expanded",
    "imported",
    "literal_secrets",
    "refuse_alike",
    "servers_of",
    "shown_arguments",
    "written_secrets",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
