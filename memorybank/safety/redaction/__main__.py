"""Fill the cache of compiled vendor rules: python -m memorybank.safety.redaction."""

from memorybank.safety.redaction.vendors import load

load()
