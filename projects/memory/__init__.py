"""The memory pages of a project: what the model is told, every fact and its sources, erasure and history."""
