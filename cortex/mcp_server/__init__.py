"""The cortex as an MCP server: its tools for MCP clients, over stdio or HTTP.

Every client counts as hostile. A call is one turn, with the limits that every turn has. The owner's consent cannot be
given here: the client is never asked for it, and no tool decides.
"""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .calls import ClientCalls
    from .http import PATH, HttpLimits, serve_http
    from .http_door import HttpDoor
    from .server import Cortex, Hands, mcp_server
    from .stdio import serve_stdio
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "calls": "ClientCalls",
            "http": "HttpLimits PATH serve_http",
            "http_door": "HttpDoor",
            "server": "Cortex Hands mcp_server",
            "stdio": "serve_stdio",
        },
    )
