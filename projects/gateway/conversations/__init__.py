"""Which chat and turn a request belongs to. ``locating`` asks the database, ``matching`` decides on hashes."""

from .locating import TurnLocation, is_beside_chat, locate_turn

__all__ = ["TurnLocation", "is_beside_chat", "locate_turn"]
