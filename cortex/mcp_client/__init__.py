"""The tools of MCP servers, for whoever uses tools here."""

from __future__ import annotations

from .errors import McpUnavailable
from .server import ServerStatus
from .servers import McpServers
from .tool import McpTool

__all__ = ["McpServers", "McpTool", "McpUnavailable", "ServerStatus"]
