"""Read a bank: its block, recall, prompts, exports and explanations."""
