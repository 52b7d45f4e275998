"""Importing chats from files, replaying them on a simulated clock, and the demo's sample."""
