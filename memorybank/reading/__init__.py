"""All that reads a bank: its block, recall, prompts, exports, explanations.

It writes only that somebody read: an audit row of an explanation or an export, a ledger row of a question's embedding.
"""
