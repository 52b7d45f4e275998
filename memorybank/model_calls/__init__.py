"""Calls of the summary model: validated answers, one call at a time per worker, within the monthly budget cap."""
