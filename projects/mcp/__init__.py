"""The Model Context Protocol at `/mcp`: memory as tools for other programs."""
