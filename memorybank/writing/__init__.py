"""Change a bank: record outputs, summarise chats, roll up entries, edit facts and settings, and queue due work."""
