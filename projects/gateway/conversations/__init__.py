"""Find the chat and the turn that a request belongs to, and the notes that its questions were given.

``locating`` and ``given_notes`` query the database; ``matching`` only compares hashes. ``turn`` is the result.
"""
