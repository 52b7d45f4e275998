"""Web helpers without business rules: URL converters, public ids, encryption, connections, terminal output."""
