"""The cortex as an MCP server: its tools for MCP clients, over stdio or HTTP.

Every client counts as hostile. A call is one turn, with the limits that every turn has. The owner's consent cannot be
given here: the client is never asked for it, and no tool decides.
"""

from typing import TYPE_CHECKING

from sandbox import lazy_door

if TYPE_CHECKING:
    from .address import (
        Address as Address,
        BadAddress as BadAddress,
        address_of as address_of,
        is_loopback as is_loopback,
    )
    from .calls import Calls as Calls
    from .http import PATH as PATH, listen as listen, serve_http as serve_http
    from .http_door import HttpDoor as HttpDoor
    from .http_limits import HttpLimits as HttpLimits
    from .ports import CodeAnswer as CodeAnswer, Cortex as Cortex, Hands as Hands
    from .server import mcp_server as mcp_server
    from .stdio import serve_stdio as serve_stdio
else:
    __all__, __getattr__ = lazy_door(
        __name__,
        {
            "address": ["Address", "BadAddress", "address_of", "is_loopback"],
            "calls": ["Calls"],
            "http": ["PATH", "listen", "serve_http"],
            "http_door": ["HttpDoor"],
            "http_limits": ["HttpLimits"],
            "ports": ["CodeAnswer", "Cortex", "Hands"],
            "server": ["mcp_server"],
            "stdio": ["serve_stdio"],
        },
    )
