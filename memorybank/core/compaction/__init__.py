"""A long chat made short: what is kept, what is read, what notes are taken. Plain values. Pure."""
