"""Everything that writes the search index: documents of turns, their vectors, and re-masking of stored text."""
