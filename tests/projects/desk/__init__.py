"""Tests of the owner's desk: projects and their settings, notices, one's own account."""
