"""Compact a chat for its own prompt: a checkpoint replaces its earlier turns there. The turns stay stored."""
