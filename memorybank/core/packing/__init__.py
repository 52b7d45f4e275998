"""Facts → one block of text that never exceeds its token budget."""
