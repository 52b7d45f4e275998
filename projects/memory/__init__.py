"""The memory pages of a project: the block, every fact and its sources, erasure and history."""
