"""Webhooks: signed messages to other programs about events in a project's memory, retried, without chat text."""
