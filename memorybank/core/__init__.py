"""Memory's decisions, on plain values: a turn, a fact worth keeping, a proved line, a period, a block. No Django."""
