"""Tests of the settings pages: projects, webhooks, notices, one's own account."""
