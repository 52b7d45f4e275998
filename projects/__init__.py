"""Tenants, members, projects, and the doors to their memory: the only place where rights exist."""
