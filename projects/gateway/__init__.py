"""The gateway at ``/v1``: a proxy for LLM APIs that adds a project's memory to requests."""
