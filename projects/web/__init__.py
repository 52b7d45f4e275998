"""Helpers shared by views of several packages: URLs, pagination, polling, undo, Markdown, database connections."""
