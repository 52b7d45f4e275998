"""Read a bank: its block, recall, prompts, exports and explanations.

The only writes record the reading: an audit row for an explanation or an export; and for the embedding of a question a
ledger row and the state of the model's endpoint.
"""
