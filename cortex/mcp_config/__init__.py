"""Read and change the list of MCP servers: in the settings, in the home's mcp.json, in files of other programs."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .file import MAX_FILE_BYTES, McpFile, Named, checked_servers, refuse_alike, servers_of
    from .imports import imported
    from .secrets import literal_secrets, shown_arguments, written_secrets
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "file": "MAX_FILE_BYTES McpFile Named checked_servers refuse_alike servers_of",
            "imports": "imported",
            "secrets": "literal_secrets shown_arguments written_secrets",
        },
    )
