"""Compact a chat: in its prompt, a checkpoint replaces the earlier turns. The turns stay stored."""
