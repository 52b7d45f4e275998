"""Calls of the summary model: one accepted answer, one call at a time for each worker, within the monthly budget."""
