"""The cortex as an MCP server: its tools for every client that speaks the protocol, over pipes or HTTP.

Whoever calls is hostile. A call is one turn, with the limits that every turn has, and the owner's consent never travels
here: there is nobody to ask, and no tool that decides.
"""

from .address import Address, BadAddress, address_of, is_loopback
from .calls import Calls
from .http import PATH, listen, serve_http
from .http_door import HttpDoor
from .http_limits import HttpLimits
from .ports import CodeAnswer, Cortex, Hands
from .server import mcp_server
from .stdio import serve_stdio

__all__ = [
    "PATH",
    "Address",
    "BadAddress",
    "Calls",
    "CodeAnswer",
    "Cortex",
    "Hands",
    "HttpDoor",
    "HttpLimits",
    "address_of",
    "is_loopback",
    "listen",
    "mcp_server",
    "serve_http",
    "serve_stdio",
]
