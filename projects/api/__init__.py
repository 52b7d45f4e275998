"""The HTTP API at `/api/v1/`: what programs do with a project and its memory, by a key of that project."""
