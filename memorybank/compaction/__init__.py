"""Shortening a chat for its own prompt: a checkpoint in the place of its earlier turns, which stay where they are."""
