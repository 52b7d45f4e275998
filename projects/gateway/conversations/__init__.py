"""Find the chat and the turn that a request belongs to, and the notes that its questions were given.

``locating`` and ``given_notes`` query the database; ``matching`` only compares hashes.
"""

from .given_notes import find_given_notes, find_notes_of_chat
from .locating import TurnLocation, is_beside_chat, locate_turn

__all__ = ["TurnLocation", "find_given_notes", "find_notes_of_chat", "is_beside_chat", "locate_turn"]
