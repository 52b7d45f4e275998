"""Fills the cache of compiled rules: python -m memorybank.safety.redaction."""

from memorybank.safety.redaction.vendors import load

load()
