"""Chats: asking the model, streaming and recording its answers, and the pages and JSON endpoints for it."""
