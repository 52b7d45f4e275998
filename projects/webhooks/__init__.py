"""Webhooks: tell other programs what happened in a project's memory, signed, retried, without a word of a chat."""
