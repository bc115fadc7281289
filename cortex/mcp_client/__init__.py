"""Connect to MCP servers and call their tools, for the workbench and for commands."""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .errors import McpUnavailable
    from .server import ServerStatus
    from .servers import McpServers
    from .tool import McpArguments, McpTool, read_arguments
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "errors": "McpUnavailable",
            "server": "ServerStatus",
            "servers": "McpServers",
            "tool": "McpArguments McpTool read_arguments",
        },
    )
