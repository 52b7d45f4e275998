"""All that reads a bank: its block, recall, prompts, exports, counts, proofs and explanations."""
