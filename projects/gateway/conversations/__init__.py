"""Which chat and turn a request belongs to, and which notes it was given.

``locating`` and ``given_notes`` ask the database, ``matching`` decides on hashes.
"""

from .given_notes import find_given_notes
from .locating import TurnLocation, is_beside_chat, locate_turn

__all__ = ["TurnLocation", "find_given_notes", "is_beside_chat", "locate_turn"]
