"""The same questions through code mode and through plain tool calls, with two real MCP servers, and what each puts into
the context of the model. From a checkout: `make demo-mcp`, or `python -m examples.mcp_story`."""
