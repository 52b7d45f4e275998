"""Read a bank: its block, recall, prompts, exports and explanations.

It writes only who read: an audit row of an explanation or an export, a ledger row of a question's embedding.
"""
