"""Two small MCP servers that come with the program: for the demo, for the examples, and to try a client with."""
