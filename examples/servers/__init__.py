"""Two small MCP servers, for the examples and to try a client with: `python -m examples.servers.commit_log`."""
