"""Providers that requests are forwarded to: which one, how, and what of their errors is shown."""
