"""Programs to read and to copy. A package, so that `python -m examples.mcp_story` finds this one in a checkout."""
