"""The HTTP API at `/api/v1/`: access for programs to a project and its memory, with a key of that project."""
